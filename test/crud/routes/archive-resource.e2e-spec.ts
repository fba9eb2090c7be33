/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { type CrudHooks, IsReference, IsText } from '../../../src/index.js';
import { eventually } from '../../support/eventually.js';
import { onEvent } from '../../support/on-event.js';
import { expectInvalid, expectNotFound, expectProblem } from '../../support/problems.js';
import { each, storedIn } from '../../support/records.js';
import { useDatabase } from '../../support/mongodb.js';
import { rootOf, useResourceApp } from '../../support/resource-app.js';
import { ACME, acme } from '../../support/tenants.js';
import { createTestApp } from '../../support/test-app.js';
import { below, type Made, OF_TENANT, resource } from '../../support/resource.js';

const PATH = '/vouchers';
const NOBODY = '0123456789abcdef01234567';

const short = IsText({ min: 1, max: 20 });

/** What vouchers are for. */
const shops = resource({ name: 'shops', fields: { name: short }, ...OF_TENANT });

/** The hooks of the test that runs. */
let hooks: CrudHooks<Made, Made> = {};
/** Records with values that no two live ones share. */
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
  hooks: {
    beforeUpdate: (context) => hooks.beforeUpdate?.(context),
    afterUpdate: (context) => hooks.afterUpdate?.(context),
    beforeDel: (context) => hooks.beforeDel?.(context),
  },
});

/** Besides, what is below a voucher, what refers to one, and what one refers to. */
const resources = [
  ...[vouchers, shops],
  below(vouchers, { name: 'stamps', fields: { text: short }, ...OF_TENANT }),
  resource({
    name: 'sales',
    fields: { voucher: IsReference(() => vouchers.entity) },
    ...OF_TENANT,
    references: { voucher: { to: vouchers.entity, onDelete: 'cascade' } },
  }),
];
const app = useResourceApp(...resources);
beforeEach(async () => {
  hooks = {};
  await app.empty();
});

const post = (body: object, path = PATH) => app.post(path, body, { token: acme });
const create = (body: object, path = PATH) => app.create(path, body, acme);
const get = (path: string) => app.get(path, { token: acme });
const remove = (id: string) => app.del(`${PATH}/${id}`, { token: acme });
const restore = (id: string) => app.request('POST', `${PATH}/${id}/restore`, { token: acme });
const codes = async (query: string) => each((await get(PATH + query)).body, 'code');

describe('the DELETE of a resource with an archive', () => {
  it('is a 404 for a record that is not there, or archived already', async () => {
    const old = await create({ code: 'OLD' });
    await remove(old);
    const before = await storedIn(app, 'vouchers');
    expectNotFound(await remove(old), `${PATH}/${old}`, 'Voucher');
    expectNotFound(await remove(NOBODY), `${PATH}/${NOBODY}`, 'Voucher');
    expect(await storedIn(app, 'vouchers')).toEqual(before);
  });

  it('runs the hooks of an update, as the restore does, and they may refuse', async () => {
    const seen: unknown[] = [];
    const told = ({ action, record, previous }: { action: string; record: Made; previous: Made }) =>
      [action, record.endedAt instanceof Date, previous.endedAt instanceof Date] as const;
    const refuse = () => Promise.reject(new Error('Not now.'));
    hooks = {
      beforeUpdate: (context) => void seen.push(['before', ...told(context)]),
      afterUpdate: (context) => void seen.push(['after', ...told(context), context.changed]),
      // A record is archived, not deleted.
      beforeDel: refuse,
    };
    const events = onEvent(app, 'vouchers.afterUpdate');
    const id = await create({ code: 'HOOKED' });
    expect((await remove(id)).status).toBe(200);
    expect((await restore(id)).status).toBe(200);
    expect(seen).toEqual([
      ['before', 'del', true, false],
      ['after', 'del', true, false, ['endedAt']],
      ['before', 'restore', false, true],
      ['after', 'restore', false, true, ['endedAt']],
    ]);
    const changed = { changed: ['endedAt'], tenant: ACME };
    expect(events).toMatchObject([
      { action: 'del', ...changed, record: { endedAt: expect.anything() } },
      { action: 'restore', ...changed },
    ]);
    expect(events[1]?.record).not.toHaveProperty('endedAt');
    hooks = { beforeUpdate: refuse };
    expect((await remove(id)).status).toBe(500);
    expect(await codes('')).toEqual(['HOOKED']);
  });
});

describe('a unique value', () => {
  const taken = (instance: string) => {
    const detail = 'A record with the same code exists. Choose another value.';
    const errors = [{ pointer: '/code', detail }];
    return { status: 409, code: 'DUPLICATE_VALUE', detail, instance, errors };
  };

  it('of an archived record is free, and its restore is a 409 while another record has it', async () => {
    const first = await create({ code: 'SPRING' });
    expectProblem(await post({ code: 'SPRING' }), taken(PATH));
    await remove(first);
    const second = await create({ code: 'SPRING' });
    const before = await storedIn(app, 'vouchers');
    expectProblem(await restore(first), taken(`${PATH}/${first}/restore`));
    expect(await storedIn(app, 'vouchers')).toEqual(before);
    await remove(second);
    expect(await codes('?archived=only')).toEqual(['SPRING', 'SPRING']);
    expect((await restore(first)).body).toEqual({ restored: true });
    expectProblem(await restore(second), taken(`${PATH}/${second}/restore`));
    expectProblem(await post({ code: 'SPRING' }), taken(PATH));
  });

  it('may be absent from any number of live records, if its index is sparse', async () => {
    for (const code of ['A', 'B']) await create({ code });
    const first = await create({ code: 'C', serial: '1' });
    expect((await post({ code: 'D', serial: '1' })).body.errors[0].pointer).toBe('/serial');
    await remove(first);
    await create({ code: 'D', serial: '1' });
    expect((await restore(first)).body.errors[0].pointer).toBe('/serial');
  });

  it('is never held by two records, however restores and creates race for it', async () => {
    for (let round = 0; round < 8; round++) {
      const code = `RACE ${round}`;
      const id = await create({ code });
      await remove(id);
      const answers = await Promise.all([restore(id), post({ code }), restore(id), post({ code })]);
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status < 300)).toHaveLength(1);
      const vouchers = app.database.collection('vouchers');
      expect(await vouchers.countDocuments({ code, endedAt: null })).toBe(1);
    }
  });
});

describe('records around an archived one', () => {
  it('are absent below it, until it is restored', async () => {
    const id = await create({ code: 'PARENT' });
    const below = `${PATH}/${id}/stamps`;
    const stamp = await create({ text: 'one' }, below);
    await remove(id);
    expectNotFound(await get(below), below, 'Voucher');
    expectNotFound(await get(`${below}/${stamp}`), `${below}/${stamp}`, 'Voucher');
    expectNotFound(await post({ text: 'two' }, below), below, 'Voucher');
    await restore(id);
    expect((await get(`${below}/${stamp}`)).body.text).toBe('one');
  });

  it('keep their reference to it, and no other can be made', async () => {
    const voucher = await create({ code: 'SOLD' });
    const sale = await create({ voucher }, '/sales');
    await remove(voucher);
    // An archive is no delete: nothing cascades.
    expect((await get(`/sales/${sale}`)).body.voucher).toBe(voucher);
    expectInvalid(await post({ voucher }, '/sales'), '/sales', {
      pointer: '/voucher',
      detail: '"voucher" names no voucher that you can use.',
    });
  });

  it('cannot be deleted while it refers to them', async () => {
    const shop = await create({ name: 'Corner' }, '/shops');
    const voucher = await create({ code: 'LOCAL', shop });
    await remove(voucher);
    expect((await app.del(`/shops/${shop}`, { token: acme })).body.code).toBe('STILL_REFERENCED');
    expect((await restore(voucher)).status).toBe(200);
  });
});

const older = useDatabase();
it('an index left by an older version is reported, and created again once it is removed', async () => {
  const { uri, database } = older;
  const collection = database.collection('vouchers');
  await collection.createIndex({ tenant: 1, code: 1 }, { unique: true });
  await using newer = await createTestApp({ env: { MONGODB_URI: uri }, root: rootOf(...resources) });
  const reason = expect.stringContaining('existing index: ') as string;
  expect(newer.logLines).toContainEqual(expect.objectContaining({ resource: 'vouchers', reason }));
  const status = async () => (await newer.get(PATH, { token: acme })).status;
  expect(await status()).toBe(503);
  await collection.dropIndex({ tenant: 1, code: 1 } as never);
  await eventually(async () => expect(await status()).toBe(200));
});
