/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { IsText, IsWholeNumber } from '../../../src/index.js';
import { ids, NOWHERE } from '../../support/bulk.js';
import { each, storedIn } from '../../support/records.js';
import { OF_TENANT, resource } from '../../support/resource.js';
import { useResourceApp } from '../../support/resource-app.js';
import { commandsOf } from '../../support/sent-commands.js';
import { acme as token, globex } from '../../support/tenants.js';

const made: unknown[] = [];

const seats = resource({
  name: 'seats',
  fields: { row: IsText({ max: 20 }), number: IsWholeNumber({ min: 1, max: 50 }) },
  ...OF_TENANT,
  kept: { ...OF_TENANT.kept, label: Prop({ type: String, unique: true, sparse: true }) },
  bulk: true,
  query: { sort: ['number'] },
  hooks: {
    beforeCreate: ({ record }) => void (record.label = `${String(record.row)}${Number(record.number)}`),
    afterCreate: ({ record }) => void made.push(record.label),
  },
});

// Without code of their own, so that their operations share commands.
const fields = { name: IsText({ max: 20 }), height: IsWholeNumber({ default: 0 }) };
const name = Prop({ type: String, required: true, unique: true });
const herbs = resource({
  name: 'herbs',
  fields,
  ...OF_TENANT,
  kept: { ...OF_TENANT.kept, name },
  bulk: true,
});

const app = useResourceApp(seats, herbs, resource({ name: 'pots', fields, bulk: true }));
beforeEach(async () => {
  await app.empty();
  made.length = 0;
});

const send = (path: string, operations: object[], headers = {}) =>
  app.post(`${path}/bulk`, { atomic: true, operations }, { token, headers });
const update = (_id: string, changes: object, ifMatch?: string) => ({ update: { _id, changes, ifMatch } });
const OTHER = { status: 424, code: 'NOT_CARRIED_OUT' };

describe('an atomic bulk request', () => {
  const seat = (number: number) => ({ row: 'A', number });
  const create = (number: number) => ({ create: seat(number) });
  const labels = async () => each((await app.get('/seats?sort=number', { token })).body, 'label');

  it('carries out all operations, and runs their hooks after that', async () => {
    const _id = await app.create('/seats', seat(1), token);
    const { body } = await send('/seats', [create(2), update(_id, { number: 3 })]);
    const results = [{ status: 201, _id: expect.any(String) }, { status: 200 }];
    expect(body).toEqual({ committed: true, results });
    expect(await labels()).toEqual(['A2', 'A1']);
    expect(made).toEqual(['A1', 'A2']);
  });

  const missing = { status: 404, code: 'RECORD_NOT_FOUND' };
  it.each<[string, (foreign: string) => object, object]>([
    ['has a fault', () => create(99), { status: 400, code: 'VALIDATION_FAILED' }],
    ['is malformed', () => ({ move: {} }), { status: 400, code: 'VALIDATION_FAILED' }],
    ['repeats a unique value', () => create(1), { status: 409, code: 'DUPLICATE_VALUE' }],
    ['names no record', () => ({ del: { _id: NOWHERE } }), missing],
    ['names a record of another tenant', (foreign) => update(foreign, { number: 3 }), missing],
  ])('carries out none if one of them %s', async (_case, operationOf, problem) => {
    await app.create('/seats', seat(1), token);
    const foreign = await app.create('/seats', seat(9), globex);
    const { status, body } = await send('/seats', [create(2), operationOf(foreign), create(3)]);
    expect([status, body]).toMatchObject([200, { committed: false, results: [OTHER, problem, OTHER] }]);
    expect([await labels(), made]).toEqual([['A1'], ['A1', 'A9']]);
    expect((await app.get(`/seats/${foreign}`, { token: globex })).body.number).toBe(9);
  });

  it('that meets other writes is repeated without an error in the log', async () => {
    const _id = await app.create('/seats', seat(1), token);
    const changes = async (number: number) => {
      for (let i = 0; i < 20; i++) await app.patch(`/seats/${_id}`, { number: number + i }, { token });
    };
    const units = async () => {
      for (let i = 0; i < 10; i++) await send('/seats', [create(i + 2), update(_id, { row: `${i}` })]);
    };
    await Promise.all([changes(1), units(), changes(21)]);
    expect(each(app.logLines, 'code')).not.toContain('INTERNAL_ERROR');
  });
});

describe('an atomic bulk whose operations cannot see each other', () => {
  const create = (number: number) => ({ create: { name: `Plant ${number}` } });
  const pots = async () => ids(await send('/pots', [1, 2, 3].map(create))) as [string, string, string];
  const heights = async () => each(await storedIn(app, 'pots'), 'height');
  const grow = (_id: string, height: number, ifMatch?: string) => update(_id, { height }, ifMatch);

  it('stores its creates by one command, in their order', async () => {
    const operations = Array.from({ length: 300 }, (_, i) => create(i));
    const sent = await commandsOf(app, async () =>
      expect((await send('/herbs', operations)).body.committed).toBe(true),
    );
    expect(sent.filter(({ name }) => name === 'insert herbs')).toHaveLength(1);
    expect(each(await storedIn(app, 'herbs'), 'name')).toEqual(operations.map((one) => one.create.name));
  });

  it.each([{}, { 'Idempotency-Key': 'herbs' }])('says which value is there already: %j', async (headers) => {
    await send('/herbs', [create(3)]);
    const { body } = await send('/herbs', [1, 2, 3, 4].map(create), headers);
    const problem = { status: 409, code: 'DUPLICATE_VALUE', errors: [{ pointer: '/name' }] };
    expect(body).toMatchObject({ committed: false, results: [OTHER, OTHER, problem, OTHER] });
    expect(each(await storedIn(app, 'herbs'), 'name')).toEqual(['Plant 3']);
  });

  it('changes each record as its own operation says', async () => {
    const [one, two, three] = await pots();
    const operations = [grow(one, 1), grow(two, 2, '"0"'), grow(three, 3)];
    const results = Array(3).fill({ status: 200 });
    const sent = await commandsOf(app, async () =>
      expect((await send('/pots', operations)).body).toEqual({ committed: true, results }),
    );
    expect(sent.filter(({ name }) => name === 'update pots')).toHaveLength(1);
    expect(await heights()).toEqual([1, 2, 3]);
  });

  it.each([
    ['is not there', 404, () => grow(NOWHERE, 2)],
    ['has another tag', 412, (id: string) => grow(id, 2, '"7"')],
  ])('changes nothing if a record among others %s', async (_case, status, changeOf) => {
    const [one, two, three] = await pots();
    const { body } = await send('/pots', [grow(one, 1), changeOf(two), grow(three, 3)]);
    expect(body).toMatchObject({ committed: false, results: [OTHER, { status }, OTHER] });
    expect(await heights()).toEqual([0, 0, 0]);
  });
});
