import { Schema } from '@nestjs/mongoose';
import {
  IsDecimal,
  IsIdentifier,
  IsListOf,
  IsNested,
  IsNumber,
  IsOneOf,
  IsReference,
  IsText,
  IsWholeNumber,
} from '../../src/common/fields/index.js';
import { Category } from '../categories/index.js';

export enum Colour {
  Black = 'black',
  Blue = 'blue',
  Red = 'red',
}

/** Unit: centimetres. */
export class Dimensions {
  @IsNumber({ min: 0, max: 1_000, example: 31.5 })
  length!: number;

  @IsNumber({ min: 0, max: 1_000, example: 20 })
  width!: number;

  @IsNumber({ min: 0, max: 1_000, optional: true, example: 12 })
  height?: number;
}

/** One form that the product is sold in. */
export class Variant {
  @IsText({ min: 1, max: 40, example: 'SHOE-42' })
  sku!: string;

  @IsText({ min: 1, max: 20, example: '42' })
  size!: string;

  @IsWholeNumber({ min: 0, max: 100_000, example: 12 })
  stock!: number;
}

export class ProductInput {
  @IsText({ min: 1, max: 200, example: 'Trail shoe' })
  name!: string;

  @IsDecimal({ scale: 2, min: 0, max: '999999.99', example: '89.90' })
  price!: string;

  @IsOneOf(Colour, { optional: true, example: Colour.Blue })
  colour?: Colour;

  @IsNested(() => Dimensions, { optional: true })
  dimensions?: Dimensions;

  @IsListOf(() => Variant, { max: 50 })
  variants!: Variant[];

  @IsReference(() => Category, { optional: true })
  category?: string;
}

@Schema({ timestamps: true })
export class Product extends ProductInput {
  @IsIdentifier()
  tenant!: string;
}
