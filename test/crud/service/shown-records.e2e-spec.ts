import { Param, type Type } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { Schema, Types } from 'mongoose';
import { CrudAction, CrudController, CrudModule } from '../../../src/common/crud/index.js';
import { eventually } from '../../support/eventually.js';
import { useResourceApp } from '../../support/resource-app.js';
import { feature, type Made, OF_TENANT, resource } from '../../support/resource.js';
import { ACME, acme as token } from '../../support/tenants.js';

/** What the output of slips and cards returns for records of this text. */
const RETURNED: Record<string, () => unknown> = {
  nothing: () => undefined,
  null: () => null,
  text: () => 'text',
  list: () => [],
  promise: () => Promise.reject(new Error('No record.')),
  throws: () => {
    throw new Error('No view.');
  },
};
const returned = (record: Made) => (RETURNED[record.text as string] ?? (() => record))() as Made;

const words = ({ _id, text }: Made) => ({ _id, words: String(text).split(' ') });

const published = { kept: { published: Prop({ type: Boolean }) }, visible: { published: true } };
const lockers = resource({ name: 'lockers', kept: { code: Prop({ type: String, select: false }) } });

/** Gives a record that it has from elsewhere, with what the store would not have read. */
class LockersController extends CrudController(lockers) {
  @CrudAction(lockers, { method: 'GET', path: ':id/whole', isolatedAs: 'get' })
  whole(@Param('id') id: string) {
    const time = new Date(0);
    return { _id: new Types.ObjectId(id), text: 'A', code: '1234', createdAt: time, updatedAt: time, __v: 0 };
  }
}

const transform = () => ({ street: 'Low' });
const address = new Schema({ street: String }, { _id: false, toObject: { transform } });

const app = useResourceApp(
  feature({
    name: 'houses',
    kept: { address: Prop({ type: address, default: () => ({ street: 'High' }) }) },
  }),
  feature({ name: 'notes', output: words }),
  feature({ name: 'slips', output: returned }),
  feature({ name: 'cards', output: { type: resource({ name: 'views' }).input as Type, from: returned } }),
  feature({ name: 'flyers', ...published }),
  feature({
    name: 'sheets',
    ...published,
    ...OF_TENANT,
    kept: { ...OF_TENANT.kept, ...published.kept, deletedAt: Prop({ type: Date }) },
    archive: { field: 'deletedAt' },
  }),
  CrudModule.forFeature(lockers, { controller: LockersController }),
);
beforeEach(() => app.empty());

it('an output that is a function is documented as an object of any fields, and answered everywhere', async () => {
  const headers = { Prefer: 'return=representation' };
  const { body } = await app.post('/notes', { text: 'Buy stamps' }, { headers });
  expect(body).toEqual({ _id: body._id, words: ['Buy', 'stamps'] });
  expect((await app.get('/notes')).body).toEqual([body]);
  const page = { results: [body], count: 1, next: null, prev: null };
  expect((await app.get('/notes?limit=1')).body).toEqual(page);
  expect((await app.get(`/notes/${body._id}`)).body).toEqual(body);
  const changed = await app.patch(`/notes/${body._id}`, { text: 'Sell' }, { headers });
  expect(changed.body).toEqual({ _id: body._id, words: ['Sell'] });
});

it('a create shows what a read shows, whatever the schema of a nested object makes for its own readers', async () => {
  const headers = { Prefer: 'return=representation' };
  const { body } = await app.post('/houses', { text: 'A' }, { headers });
  expect(body.address).toEqual({ street: 'High' });
  expect((await app.get(`/houses/${body._id}`)).body).toEqual(body);
});

describe('an output that fails on one of the records', () => {
  const linesOf = (id: string) => app.logLines.filter(({ requestId }) => requestId === id);

  it.each([
    ['slips', 'nothing'],
    ['slips', 'null'],
    ['slips', 'text'],
    ['slips', 'list'],
    ['slips', 'promise'],
    ['cards', 'promise'],
  ])('is a 500 that the log explains if that of %s returns %s', async (name, text) => {
    const _id = await app.create(`/${name}`, { text });
    const message =
      'The function of `output` must return the record itself, not a promise, a list or a value.';
    const headers = { Accept: 'application/x-ndjson', 'X-Request-Id': `${name}-${text}` };
    const failure = { status: 500, body: { code: 'INTERNAL_ERROR' } };
    for (const path of [`/${name}/${_id}`, `/${name}`, `/${name}?limit=1`])
      expect(await app.get(path, { headers })).toMatchObject(failure);
    const errors = linesOf(headers['X-Request-Id']).filter(({ level }) => level === 'error');
    expect(errors).toMatchObject([{ error: { message } }, { error: { message } }, { error: { message } }]);
  });

  it('breaks off a list that has begun, and the log has the error', async () => {
    const times = { createdAt: new Date(1), updatedAt: new Date(1), __v: 0 };
    const newer = { text: 'x'.repeat(50), ...times, createdAt: new Date(2) };
    const slips = Array.from({ length: 3_000 }, () => ({ ...newer }));
    await app.database.collection('slips').insertMany([...slips, { text: 'throws', ...times }]);
    const headers = { 'X-Request-Id': 'broken-off' };
    await expect(fetch(`${app.url}/slips`, { headers }).then((answer) => answer.text())).rejects.toThrow();
    await eventually(() => expect(linesOf('broken-off')).toHaveLength(1));
    expect(linesOf('broken-off')).toMatchObject([
      { level: 'error', path: '/slips', error: { message: 'No view.' }, msg: 'answer broke off' },
    ]);
  });
});

it.each(['flyers', 'sheets'])('invisible %s are in no list and count, and do not change', async (name) => {
  const collection = app.database.collection(name);
  const at = new Date(0);
  const record = { text: 'A', tenant: new Types.ObjectId(ACME), createdAt: at, updatedAt: at, __v: 0 };
  const records = [true, false].map((published) => ({ ...record, published }));
  const { insertedIds } = await collection.insertMany(records);
  const before = await collection.findOne({ published: false });
  const shown = [expect.objectContaining({ _id: String(insertedIds[0]) })];
  const get = async (below: string) => (await app.get(`/${name}${below}`, { token })).body as unknown;
  expect(await get('')).toEqual(shown);
  expect(await get('?limit=5')).toMatchObject({ results: shown, count: 1 });
  expect(await get('/count')).toEqual({ count: 1 });
  const path = `/${name}/${String(insertedIds[1])}`;
  expect(await get(`/${String(insertedIds[1])}`)).toMatchObject({ status: 404 });
  expect((await app.patch(path, { text: 'B' }, { token })).status).toBe(404);
  expect((await app.del(path, { token })).status).toBe(404);
  expect(await collection.findOne({ published: false })).toEqual(before);
});

describe('a field with select: false', () => {
  it('is not shown, even if a handler returns it', async () => {
    const time = '1970-01-01T00:00:00.000Z';
    const { body } = await app.get(`/lockers/${ACME}/whole`);
    expect(body).toEqual({ _id: ACME, text: 'A', createdAt: time, updatedAt: time });
  });

  it('cannot be requested', async () => {
    const { status, body } = await app.get('/lockers?fields=code');
    expect([status, body.errors?.[0]?.parameter]).toEqual([400, 'fields']);
  });
});
