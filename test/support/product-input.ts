import { Prop, Schema, Virtual } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import * as f from '../../src/common/fields/index.js';

export class Category {}

export class Dimensions {
  @f.IsWholeNumber({ min: 1, max: 500 }) width!: number;
  @f.IsWholeNumber({ min: 1, max: 500, optional: true }) depth?: number;
}

export class Variant {
  @f.IsText({ min: 1, max: 20 }) sku!: string;
  @f.IsDecimal({ scale: 2 }) price!: string;
  @f.IsNested(() => Dimensions, { optional: true }) dimensions?: Dimensions;
}

/** An input with every sort of field. */
export class ProductInput {
  @f.IsText({ min: 1, max: 200, example: 'Chair' }) name!: string;
  @f.IsFlag({ default: true }) visible?: boolean;
  @f.IsNested(() => Dimensions, { optional: true }) dimensions?: Dimensions;
  @f.IsListOf(() => Variant, { max: 50 }) variants!: Variant[];
  @f.IsListOf(f.IsText({ max: 10 }), { max: 3, optional: true }) labels?: string[];
  @f.IsReference(() => Category, { optional: true }) category?: string;
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
