import { Prop, Schema } from '@nestjs/mongoose';
import { IsDecimal, IsIdentifier, IsNested, IsReference, IsText } from '../../src/common/fields/index.js';
import { Order } from '../orders/index.js';

export class Address {
  @IsText({ min: 1, max: 200, example: '12 Mill Lane' })
  street!: string;

  @IsText({ min: 1, max: 20, example: 'CB2 1TN' })
  postcode!: string;

  @IsText({ min: 1, max: 100, example: 'Cambridge' })
  city!: string;
}

/** The parts of an invoice. Only the service creates one. */
export class InvoiceInput {
  @Prop({ unique: true })
  @IsReference(() => Order)
  order!: string;

  @IsDecimal({ scale: 2, example: '179.80' })
  amount!: string;
}

@Schema({ timestamps: true })
export class Invoice extends InvoiceInput {
  @IsIdentifier()
  tenant!: string;

  @IsNested(() => Address, { optional: true })
  address?: Address;
}
