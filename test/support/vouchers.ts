import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { type CrudHooks, CrudModule, type CrudOptions, crudOptions } from '../../src/common/crud/index.js';
import { IsReference, IsText } from '../../src/common/fields/index.js';
import { currentTenant } from '../../src/common/tenancy/index.js';

class ShopInput {
  @IsText({ min: 1, max: 20 }) name!: string;
}

/** What vouchers are for. */
@Schema({ timestamps: true })
class Shop extends ShopInput {
  @Prop({ type: Types.ObjectId, required: true }) tenant!: Types.ObjectId;
}

/** The body of a voucher. */
export class VoucherInput {
  @Prop({ unique: true }) @IsText({ min: 1, max: 20, example: 'SPRING' }) code!: string;
  @Prop({ unique: true, sparse: true }) @IsText({ max: 20, optional: true }) serial?: string;
  @IsReference(() => Shop, { optional: true }) shop?: string;
}

/** A record with values that no two live ones share. */
@Schema({ timestamps: true })
export class Voucher extends VoucherInput {
  @Prop({ type: Types.ObjectId, required: true }) tenant!: Types.ObjectId;
  @Prop({ type: Date }) endedAt?: Date;
}

class StampInput {
  @IsText({ min: 1, max: 20 }) text!: string;
}

/** A record below a voucher. */
@Schema({ timestamps: true })
class Stamp extends StampInput {
  @Prop({ type: Types.ObjectId, required: true }) voucher!: Types.ObjectId;
  @Prop({ type: Types.ObjectId, required: true }) tenant!: Types.ObjectId;
}

class SaleInput {
  @IsReference(() => Voucher) voucher!: string;
}

/** A record that refers to a voucher, and cannot do without it. */
@Schema({ timestamps: true })
class Sale extends SaleInput {
  @Prop({ type: Types.ObjectId, required: true }) tenant!: Types.ObjectId;
}

const isolationFields = { all: { tenant: currentTenant } };

/** Options of the vouchers, with hooks of a test's own. */
export function voucherOptions(
  hooks: CrudHooks<Voucher, VoucherInput> = {},
): CrudOptions<Voucher, VoucherInput> {
  return crudOptions({
    entity: Voucher,
    input: VoucherInput,
    name: 'vouchers',
    isolationFields,
    archive: { field: 'endedAt' },
    references: { shop: { to: Shop, onDelete: 'restrict' } },
    hooks,
  });
}

/** The resources below and around the vouchers. */
export const relatives = [
  CrudModule.forFeature({ entity: Shop, input: ShopInput, name: 'shops', isolationFields }),
  CrudModule.forFeature({
    entity: Stamp,
    input: StampInput,
    name: 'stamps',
    path: 'vouchers/:voucherId/stamps',
    parent: { entity: Voucher, param: 'voucherId', field: 'voucher' },
    isolationFields,
  }),
  CrudModule.forFeature({
    entity: Sale,
    input: SaleInput,
    name: 'sales',
    isolationFields,
    references: { voucher: { to: Voucher, onDelete: 'cascade' } },
  }),
];
