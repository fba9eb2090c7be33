/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { IsText, IsWholeNumber } from '../../../src/index.js';
import { NOWHERE } from '../../support/bulk.js';
import { expectInvalid } from '../../support/problems.js';
import { created, each, storedIn } from '../../support/records.js';
import { OF_TENANT, type Outline, resource } from '../../support/resource.js';
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

/** Without code of its own, so that its operations share commands. */
const plant = (outline: Outline) =>
  resource({
    fields: { name: IsText({ max: 20 }), height: IsWholeNumber({ default: 0 }) },
    bulk: true,
    query: { sort: ['name'] },
    ...outline,
  });
const kept = { name: Prop({ type: String, required: true, unique: true }) };
const herbs = plant({ name: 'herbs', ...OF_TENANT, kept: { ...OF_TENANT.kept, ...kept } });

const app = useResourceApp(seats, plant({ name: 'plants', kept }), herbs, plant({ name: 'pots' }));
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
    const _id = await created(app, '/seats', seat(1), token);
    const { body } = await send('/seats', [create(2), update(_id, { number: 3 })]);
    const results = [{ status: 201, _id: expect.any(String) }, { status: 200 }];
    expect(body).toEqual({ committed: true, results });
    expect(await labels()).toEqual(['A2', 'A1']);
    expect(made).toEqual(['A1', 'A2']);
  });

  it.each<[string, object, object]>([
    ['has a fault', create(99), { status: 400, code: 'VALIDATION_FAILED' }],
    ['is malformed', { move: {} }, { status: 400, code: 'VALIDATION_FAILED' }],
    ['repeats a unique value', create(1), { status: 409, code: 'DUPLICATE_VALUE' }],
    ['names no record', { del: { _id: NOWHERE } }, { status: 404, code: 'RECORD_NOT_FOUND' }],
  ])('carries out none if one of them %s', async (_case, operation, problem) => {
    await created(app, '/seats', seat(1), token);
    const { status, body } = await send('/seats', [create(2), operation, create(3)]);
    expect([status, body]).toMatchObject([200, { committed: false, results: [OTHER, problem, OTHER] }]);
    expect([await labels(), made]).toEqual([['A1'], ['A1']]);
  });

  it('reaches no record of another tenant', async () => {
    const _id = await created(app, '/seats', seat(1), globex);
    const { body } = await send('/seats', [create(2), update(_id, { number: 3 })]);
    expect(body.committed).toBe(false);
    expect((await app.get(`/seats/${_id}`, { token: globex })).body.number).toBe(1);
  });

  it('stores its records once for a key', async () => {
    const once = () => send('/seats', [create(1), create(2)], { 'Idempotency-Key': 'seats' });
    const [first, second] = [await once(), await once()];
    expect(second.body).toEqual(first.body);
    expect(await labels()).toEqual(['A1', 'A2']);
  });

  it('that meets other writes is repeated without an error in the log', async () => {
    const _id = await created(app, '/seats', seat(1), token);
    const changes = async (number: number) => {
      for (let i = 0; i < 20; i++) await app.patch(`/seats/${_id}`, { number: number + i }, { token });
    };
    const units = async () => {
      for (let i = 0; i < 10; i++) await send('/seats', [create(i + 2), update(_id, { row: `${i}` })]);
    };
    await Promise.all([changes(1), units(), changes(21)]);
    expect(each(app.logLines, 'code')).not.toContain('INTERNAL_ERROR');
  });

  it('says what "atomic" takes', async () => {
    const answered = await app.post('/seats/bulk', { atomic: 'yes', operations: [create(1)] }, { token });
    const fault = { pointer: '/atomic', detail: '"atomic" must be true or false.' };
    expectInvalid(answered, '/seats/bulk', fault);
  });
});

describe('an atomic bulk whose operations cannot see each other', () => {
  const nameOf = (number: number) => `Plant ${String(number).padStart(3, '0')}`;
  const create = (number: number) => ({ create: { name: nameOf(number) } });
  const heights = async (path: string) => {
    const { body } = await app.get(`${path}?sort=name`);
    return Object.fromEntries(
      (body as { name: string; height: number }[]).map((one) => [one.name, one.height]),
    );
  };
  const pots = async () => {
    const ids = each((await send('/pots', [1, 2, 3].map(create))).body.results, '_id');
    return ids as [string, string, string];
  };

  const grow = (_id: string, height: number, ifMatch?: string) => update(_id, { height }, ifMatch);

  it('stores its creates by one command, in their order', async () => {
    const operations = Array.from({ length: 300 }, (_, i) => create(i));
    const sent = await commandsOf(app, async () =>
      expect((await send('/plants', operations)).body.committed).toBe(true),
    );
    expect(sent.filter(({ name }) => name === 'insert plants')).toHaveLength(1);
    const names = operations.map((one) => one.create.name);
    expect(each(await storedIn(app, 'plants'), 'name')).toEqual(names);
  });

  it('says which value of which create is there already', async () => {
    await send('/plants', [create(3)]);
    const { body } = await send('/plants', [1, 2, 3, 4].map(create));
    const problem = { status: 409, code: 'DUPLICATE_VALUE', errors: [{ pointer: '/name' }] };
    expect(body).toMatchObject({ committed: false, results: [OTHER, OTHER, problem, OTHER] });
    expect(await heights('/plants')).toEqual({ 'Plant 003': 0 });
  });

  it.each([[{}], [{ 'Idempotency-Key': 'herbs' }]])('names no isolation field: %j', async (headers) => {
    await send('/herbs', [create(3)]);
    const { body } = await send('/herbs', [create(3)], headers);
    expect(body.results).toMatchObject([{ errors: [{ pointer: '/name' }] }]);
  });

  it('changes each record as its own operation says', async () => {
    const [one, two, three] = await pots();
    const operations = [grow(one, 1), grow(two, 2, '"0"'), grow(three, 3)];
    const results = Array(3).fill({ status: 200 });
    const sent = await commandsOf(app, async () =>
      expect((await send('/pots', operations)).body).toEqual({ committed: true, results }),
    );
    expect(sent.filter(({ name }) => name === 'update pots')).toHaveLength(1);
    expect(await heights('/pots')).toEqual({ 'Plant 001': 1, 'Plant 002': 2, 'Plant 003': 3 });
  });

  it.each<[string, number, string, string | undefined]>([
    ['is not there', 404, NOWHERE, undefined],
    ['has another tag', 412, '', '"7"'],
  ])('changes nothing if a record among others %s', async (_case, status, id, tag) => {
    const [one, two, three] = await pots();
    const { body } = await send('/pots', [grow(one, 1), grow(id || two, 2, tag), grow(three, 3)]);
    expect(body).toMatchObject({ committed: false, results: [OTHER, { status }, OTHER] });
    expect(await heights('/pots')).toEqual({ 'Plant 001': 0, 'Plant 002': 0, 'Plant 003': 0 });
  });
});
