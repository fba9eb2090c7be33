import { Schema } from '@nestjs/mongoose';
import {
  IsDecimal,
  IsIdentifier,
  IsListOf,
  IsOneOf,
  IsReference,
  IsText,
  IsWholeNumber,
} from '../../src/common/fields/index.js';
import { Product } from '../products/index.js';

export enum OrderStatus {
  Placed = 'placed',
  Paid = 'paid',
  Shipped = 'shipped',
  Cancelled = 'cancelled',
}

export class OrderLine {
  @IsReference(() => Product)
  product!: string;

  @IsWholeNumber({ min: 1, max: 1_000, example: 2 })
  quantity!: number;
}

export class OrderInput {
  @IsListOf(() => OrderLine, { min: 1, max: 100 })
  lines!: OrderLine[];

  @IsText({ max: 500, optional: true, example: 'Please ring twice.' })
  note?: string;
}

@Schema({ timestamps: true })
export class Order extends OrderInput {
  @IsIdentifier()
  tenant!: string;

  @IsDecimal({ scale: 2, example: '179.80', description: 'By the prices when the lines were last changed' })
  total!: string;

  @IsOneOf(OrderStatus, { default: OrderStatus.Placed })
  status!: OrderStatus;
}
