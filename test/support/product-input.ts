import { Prop, Schema, Virtual } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import {
  IsDecimal,
  IsFlag,
  IsListOf,
  IsNested,
  IsReference,
  IsText,
  IsWholeNumber,
} from '../../src/common/fields/index.js';

export class Category {}

export class Dimensions {
  @IsWholeNumber({ min: 1, max: 500 }) width!: number;
  @IsWholeNumber({ min: 1, max: 500, optional: true }) depth?: number;
}

export class Variant {
  @IsText({ min: 1, max: 20 }) sku!: string;
  @IsDecimal({ scale: 2 }) price!: string;
  @IsNested(() => Dimensions, { optional: true }) dimensions?: Dimensions;
}

/** An input with every sort of field. */
export class ProductInput {
  @IsText({ min: 1, max: 200, example: 'Chair' }) name!: string;
  @IsFlag({ default: true }) visible?: boolean;
  @IsNested(() => Dimensions, { optional: true }) dimensions?: Dimensions;
  @IsListOf(() => Variant, { max: 50 }) variants!: Variant[];
  @IsListOf(IsText({ max: 10 }), { max: 3, optional: true }) labels?: string[];
  @IsReference(() => Category, { optional: true }) category?: string;
}

/** An entity of that input, with a field and a virtual of its own. */
@Schema({ timestamps: true, collection: 'goods' })
export class Product extends ProductInput {
  @Prop({ type: Types.ObjectId, required: true }) tenant!: Types.ObjectId;

  @Virtual({
    get(this: Product) {
      return this.name.toUpperCase();
    },
  })
  shout?: string;
}
