import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { type CrudHooks, CrudModule } from '../../src/common/crud/index.js';
import { IsReference, IsText } from '../../src/common/fields/index.js';
import { currentTenant } from '../../src/common/tenancy/index.js';
import { resource, feature, type Made } from './resource.js';

const isolationFields = { all: { tenant: currentTenant } };
const kept = { tenant: Prop({ type: Types.ObjectId, required: true }) };
const short = IsText({ min: 1, max: 20 });

/** What vouchers are for. */
const shops = resource({ name: 'shops', fields: { name: short }, kept, isolationFields });

/** Options of records with values that no two live ones share, with hooks of a test's own. */
const vouchers = resource({
  name: 'vouchers',
  fields: {
    code: [Prop({ type: String, unique: true }), IsText({ min: 1, max: 20, example: 'SPRING' })],
    serial: [Prop({ type: String, unique: true, sparse: true }), IsText({ max: 20, optional: true })],
    shop: IsReference(() => shops.entity, { optional: true }),
  },
  kept: { ...kept, endedAt: Prop({ type: Date }) },
  isolationFields,
  archive: { field: 'endedAt' },
  references: { shop: { to: shops.entity, onDelete: 'restrict' } },
});
export const voucherOptions = (hooks: CrudHooks<Made, Made> = {}) => ({ ...vouchers, hooks });

/** The resources of what is below a voucher, of what refers to one, and of what one refers to. */
export const relatives = [
  CrudModule.forFeature(shops),
  feature({
    name: 'stamps',
    path: 'vouchers/:voucherId/stamps',
    parent: { entity: vouchers.entity, param: 'voucherId', field: 'voucher' },
    fields: { text: short },
    kept: { ...kept, voucher: Prop({ type: Types.ObjectId, required: true }) },
    isolationFields,
  }),
  feature({
    name: 'sales',
    fields: { voucher: IsReference(() => vouchers.entity) },
    kept,
    isolationFields,
    references: { voucher: { to: vouchers.entity, onDelete: 'cascade' } },
  }),
];
