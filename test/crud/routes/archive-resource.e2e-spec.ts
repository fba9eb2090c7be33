/** @mongodb */
import mongoose from 'mongoose';
import { CrudModule, type CrudHooks } from '../../../src/common/crud/index.js';
import { eventually } from '../../support/eventually.js';
import { onEvent } from '../../support/on-event.js';
import {
  expectInvalid,
  expectNotFound,
  expectProblem,
  expectUnauthenticated,
} from '../../support/problems.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { resourceRoot, useResourceApp } from '../../support/resource-app.js';
import { acme, globex } from '../../support/tenants.js';
import { createTestApp } from '../../support/test-app.js';
import { relatives, voucherOptions } from '../../support/vouchers.js';
import type { Made } from '../../support/resource.js';

const { mongo } = mongoose;
const PATH = '/vouchers';
const NOBODY = '0123456789abcdef01234567';

/** What both hooks of an update are told. */
interface Told {
  action: string;
  record: Made;
  previous: Made;
}

/** The hooks of the test that runs. */
let hooks: CrudHooks<Made, Made> = {};
const app = useResourceApp(
  CrudModule.forFeature(
    voucherOptions({
      beforeUpdate: (context) => hooks.beforeUpdate?.(context),
      afterUpdate: (context) => hooks.afterUpdate?.(context),
      beforeDel: (context) => hooks.beforeDel?.(context),
    }),
  ),
  ...relatives,
);
beforeEach(async () => {
  hooks = {};
  await app.empty();
});

const post = (body: object, token = acme) => app.post(PATH, body, { token });
const create = async (body: object, token = acme) => (await post(body, token)).body._id as string;
const remove = (id: string, token?: string, headers?: Record<string, string>) =>
  app.del(`${PATH}/${id}`, { token, headers });
const restore = (id: string, token = acme) => app.request('POST', `${PATH}/${id}/restore`, { token });
const stored = () => app.database.collection('vouchers').find().sort({ _id: 1 }).toArray();
const codes = async (query: string) =>
  ((await app.get(PATH + query, { token: acme })).body as { code: string }[]).map(({ code }) => code);

describe('the DELETE of a resource with an archive', () => {
  it('archives the record, which then only readers of the archive can see', async () => {
    const id = await create({ code: 'SPRING' });
    const [before] = await stored();
    const { status, body } = await remove(id, acme);
    expect([status, body]).toEqual([200, { archived: true }]);
    expect(await stored()).toEqual([
      { ...before, __v: 1, updatedAt: expect.any(Date), endedAt: expect.any(Date) },
    ]);
    expectNotFound(await app.get(`${PATH}/${id}`, { token: acme }), `${PATH}/${id}`, 'Voucher');
    const patched = await app.patch(`${PATH}/${id}`, { code: 'X' }, { token: acme });
    expectNotFound(patched, `${PATH}/${id}`, 'Voucher');
    expect(await codes('')).toEqual([]);
    expect(await codes('?archived=only')).toEqual(['SPRING']);
  });

  it("is a 404 for a record that is not there, archived already, or another tenant's", async () => {
    const [live, old] = [await create({ code: 'LIVE' }), await create({ code: 'OLD' })];
    await remove(old, acme);
    const before = await stored();
    expectNotFound(await remove(old, acme), `${PATH}/${old}`, 'Voucher');
    expectNotFound(await remove(NOBODY, acme), `${PATH}/${NOBODY}`, 'Voucher');
    expectNotFound(await remove(live, globex), `${PATH}/${live}`, 'Voucher');
    expectUnauthenticated(await remove(live), `${PATH}/${live}`);
    expect(await stored()).toEqual(before);
  });

  it('with If-Match is a 412 if nothing matched', async () => {
    const id = await create({ code: 'KEPT' });
    for (const [target, tag] of [
      [id, '"1"'],
      [NOBODY, '*'],
    ] as const) {
      expect((await remove(target, acme, { 'If-Match': tag })).body.code).toBe('PRECONDITION_FAILED');
    }
    expect((await remove(id, acme, { 'If-Match': '"0"' })).body).toEqual({ archived: true });
  });

  it('runs the hooks of an update, as the restore does, and they may refuse', async () => {
    const seen: unknown[] = [];
    const told = ({ action, record, previous }: Told) =>
      [action, record.endedAt instanceof Date, previous.endedAt instanceof Date] as const;
    hooks = {
      beforeUpdate: (context) => void seen.push(['before', ...told(context)]),
      afterUpdate: (context) => void seen.push(['after', ...told(context), context.changed]),
      beforeDel: () => {
        throw new Error('A record is archived, not deleted.');
      },
    };
    const events = onEvent(app, 'vouchers.afterUpdate');
    const id = await create({ code: 'HOOKED' });
    expect((await remove(id, acme)).status).toBe(200);
    expect((await restore(id)).status).toBe(200);
    expect(seen).toEqual([
      ['before', 'del', true, false],
      ['after', 'del', true, false, ['endedAt']],
      ['before', 'restore', false, true],
      ['after', 'restore', false, true, ['endedAt']],
    ]);
    expect(events.map(({ action }) => action)).toEqual(['del', 'restore']);
    hooks = {
      beforeUpdate: () => {
        throw new Error('Not now.');
      },
    };
    expect((await remove(id, acme)).status).toBe(500);
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
    await remove(first, acme);
    const second = await create({ code: 'SPRING' });
    const before = await stored();
    expectProblem(await restore(first), taken(`${PATH}/${first}/restore`));
    expect(await stored()).toEqual(before);
    await remove(second, acme);
    expect(await codes('?archived=only')).toEqual(['SPRING', 'SPRING']);
    expect((await restore(first)).body).toEqual({ restored: true });
    expectProblem(await restore(second), taken(`${PATH}/${second}/restore`));
    expectProblem(await post({ code: 'SPRING' }), taken(PATH));
  });

  it('may be absent from any number of live records, if its index is sparse', async () => {
    for (const code of ['A', 'B']) expect((await post({ code })).status).toBe(201);
    const first = await create({ code: 'C', serial: '1' });
    expect((await post({ code: 'D', serial: '1' })).body.errors[0].pointer).toBe('/serial');
    await remove(first, acme);
    expect((await post({ code: 'D', serial: '1' })).status).toBe(201);
    expect((await restore(first)).body.errors[0].pointer).toBe('/serial');
  });

  it('is never held by two records, however restores and creates race for it', async () => {
    for (let round = 0; round < 25; round++) {
      const code = `RACE ${round}`;
      const id = await create({ code });
      await remove(id, acme);
      const answers = await Promise.all([restore(id), post({ code }), restore(id), post({ code })]);
      const statuses = answers.map(({ status }) => status);
      expect(statuses.filter((status) => status < 300)).toHaveLength(1);
      const live = await app.database.collection('vouchers').countDocuments({ code, endedAt: null });
      expect(live).toBe(1);
    }
  });
});

describe('records around an archived one', () => {
  it('are absent below it, until it is restored', async () => {
    const id = await create({ code: 'PARENT' });
    const below = `${PATH}/${id}/stamps`;
    const stamp = (await app.post(below, { text: 'one' }, { token: acme })).body._id as string;
    await remove(id, acme);
    expectNotFound(await app.get(below, { token: acme }), below, 'Voucher');
    expectNotFound(await app.get(`${below}/${stamp}`, { token: acme }), `${below}/${stamp}`, 'Voucher');
    expectNotFound(await app.post(below, { text: 'two' }, { token: acme }), below, 'Voucher');
    await restore(id);
    expect((await app.get(`${below}/${stamp}`, { token: acme })).body.text).toBe('one');
  });

  it('keep their reference to it, and no other can be made', async () => {
    const voucher = await create({ code: 'SOLD' });
    const sale = (await app.post('/sales', { voucher }, { token: acme })).body._id as string;
    await remove(voucher, acme);
    // An archive is no delete: nothing cascades.
    expect((await app.get(`/sales/${sale}`, { token: acme })).body.voucher).toBe(voucher);
    expectInvalid(await app.post('/sales', { voucher }, { token: acme }), '/sales', {
      pointer: '/voucher',
      detail: '"voucher" names no voucher that you can use.',
    });
  });

  it('cannot be deleted while it refers to them', async () => {
    const shop = (await app.post('/shops', { name: 'Corner' }, { token: acme })).body._id as string;
    const voucher = await create({ code: 'LOCAL', shop });
    await remove(voucher, acme);
    expect((await app.del(`/shops/${shop}`, { token: acme })).body.code).toBe('STILL_REFERENCED');
    expect((await restore(voucher)).status).toBe(200);
  });
});

it('an index left by an older version is reported in one sentence, and created again once it is removed', async () => {
  const uri = freshDatabaseUri();
  const client = new mongo.MongoClient(uri);
  const collection = client.db().collection('vouchers');
  await collection.createIndex({ tenant: 1, code: 1 }, { unique: true });
  const features = [CrudModule.forFeature(voucherOptions()), ...relatives];
  const newer = await createTestApp({
    env: { MONGODB_URI: uri },
    root: (environment, database) => resourceRoot(environment, database, features),
  });
  const reason =
    'The index {"tenant":1,"code":1} of "vouchers" has other options than it should have by now. Run db.getCollection("vouchers").dropIndex({"tenant":1,"code":1}); it is then made anew.';
  expect(newer.logLines).toContainEqual(expect.objectContaining({ reason }));
  expect((await newer.get(PATH, { token: acme })).status).toBe(503);
  await collection.dropIndex({ tenant: 1, code: 1 } as never);
  await client.close();
  await eventually(async () => expect((await newer.get(PATH, { token: acme })).status).toBe(200));
  await newer.close();
});
