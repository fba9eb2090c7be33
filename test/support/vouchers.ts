import { Prop } from '@nestjs/mongoose';
import { type CrudHooks, CrudModule } from '../../src/common/crud/index.js';
import { IsReference, IsText } from '../../src/common/fields/index.js';
import { below, feature, type Made, OF_TENANT, resource } from './resource.js';

const short = IsText({ min: 1, max: 20 });

/** What vouchers are for. */
const shops = resource({ name: 'shops', fields: { name: short }, ...OF_TENANT });

/** Options of records with values that no two live ones share, with hooks of a test's own. */
const vouchers = resource({
  name: 'vouchers',
  fields: {
    code: [Prop({ type: String, unique: true }), IsText({ min: 1, max: 20, example: 'SPRING' })],
    serial: [Prop({ type: String, unique: true, sparse: true }), IsText({ max: 20, optional: true })],
    shop: IsReference(() => shops.entity, { optional: true }),
  },
  ...OF_TENANT,
  kept: { ...OF_TENANT.kept, endedAt: Prop({ type: Date }) },
  archive: { field: 'endedAt' },
  references: { shop: { to: shops.entity, onDelete: 'restrict' } },
});
export const voucherOptions = (hooks: CrudHooks<Made, Made> = {}) => ({ ...vouchers, hooks });

/** The resources of what is below a voucher, of what refers to one, and of what one refers to. */
export const relatives = [
  CrudModule.forFeature(shops),
  CrudModule.forFeature(below(vouchers, { name: 'stamps', fields: { text: short }, ...OF_TENANT })),
  feature({
    name: 'sales',
    fields: { voucher: IsReference(() => vouchers.entity) },
    ...OF_TENANT,
    references: { voucher: { to: vouchers.entity, onDelete: 'cascade' } },
  }),
];
