/** @mongodb */
import { Prop, Schema } from '@nestjs/mongoose';
import { type AfterCreate, CrudModule, crudOptions } from '../../../src/common/crud/index.js';
import { IsText, IsWholeNumber } from '../../../src/common/fields/index.js';
import { currentTenant } from '../../../src/common/tenancy/index.js';
import { commandsOf } from '../../support/sent-commands.js';
import { expectInvalid } from '../../support/problems.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';

class SeatInput {
  @IsText({ max: 20 }) row!: string;
  @IsWholeNumber({ min: 1, max: 50 }) number!: number;
}

@Schema({ timestamps: true })
class Seat extends SeatInput {
  @Prop({ type: String }) tenant?: string;
  @Prop({ type: String, unique: true, sparse: true }) label?: string;
}

const created: string[] = [];

const seats = crudOptions({
  entity: Seat,
  input: SeatInput,
  name: 'seats',
  bulk: true,
  isolationFields: { all: { tenant: currentTenant } },
  query: { sort: ['number'] },
  hooks: {
    beforeCreate: ({ record }) => void (record.label = `${record.row}${record.number}`),
    afterCreate: ({ record }: AfterCreate<Seat, SeatInput>) => void created.push(String(record.label)),
  },
});

class PlantInput {
  @IsText({ max: 20 }) name!: string;
  @IsWholeNumber({ default: 0 }) height?: number;
}

/** Without code of its own, so that its operations share commands. */
@Schema({ timestamps: true })
class Plant extends PlantInput {
  @Prop({ type: String, required: true, unique: true }) declare name: string;
}

@Schema({ timestamps: true })
class Pot extends PlantInput {}

const of = { input: PlantInput, bulk: true, query: { sort: ['name'] } } as const;
const plants = crudOptions({ ...of, entity: Plant, name: 'plants' });
const pots = crudOptions({ ...of, entity: Pot, name: 'pots' });

describe('an atomic bulk request', () => {
  const token = tokenOf(ACME);
  const app = useResourceApp(
    ...[seats, plants, pots].map((options) => CrudModule.forFeature(options as never)),
  );
  beforeEach(async () => {
    await app.empty();
    created.length = 0;
  });

  const bulk = (operations: object[], headers = {}) =>
    app.post('/seats/bulk', { atomic: true, operations }, { token, headers });
  const seat = (number: number) => ({ row: 'A', number });
  const labels = async () => {
    const { body } = await app.get('/seats?sort=number', { token });
    return (body as { label: string }[]).map(({ label }) => label);
  };

  it('carries out all operations, and runs their hooks after that', async () => {
    const _id = (await app.post('/seats', seat(1), { token })).body._id as string;
    const answer = await bulk([{ create: seat(2) }, { update: { _id, changes: { number: 3 } } }]);
    expect(answer.body).toEqual({
      committed: true,
      results: [{ status: 201, _id: expect.any(String) as string }, { status: 200 }],
    });
    expect(await labels()).toEqual(['A2', 'A1']);
    expect(created).toEqual(['A1', 'A2']);
  });

  it.each<[string, object, object]>([
    ['has a fault', { create: { row: 'A', number: 99 } }, { status: 400, code: 'VALIDATION_FAILED' }],
    ['is malformed', { move: {} }, { status: 400, code: 'VALIDATION_FAILED' }],
    ['repeats a unique value', { create: seat(1) }, { status: 409, code: 'DUPLICATE_VALUE' }],
    [
      'names a record that is not there',
      { del: { _id: '665f1c2ab7e3a90d4c8b4567' } },
      { status: 404, code: 'RECORD_NOT_FOUND' },
    ],
  ])('carries out none if one of them %s', async (_case, operation, problem) => {
    await app.post('/seats', seat(1), { token });
    const answer = await bulk([{ create: seat(2) }, operation, { create: seat(3) }]);
    const other = { status: 424, code: 'NOT_CARRIED_OUT' };
    expect([answer.status, answer.body]).toMatchObject([
      200,
      { committed: false, results: [other, problem, other] },
    ]);
    expect([await labels(), created]).toEqual([['A1'], ['A1']]);
  });

  it('reaches no record of another tenant', async () => {
    const foreign = await tokenOf(GLOBEX);
    const _id = (await app.post('/seats', seat(1), { token: foreign })).body._id as string;
    const { body } = await bulk([{ create: seat(2) }, { update: { _id, changes: { number: 3 } } }]);
    expect(body.committed).toBe(false);
    expect((await app.get(`/seats/${_id}`, { token: foreign })).body.number).toBe(1);
  });

  it('stores its records once for a key', async () => {
    const headers = { 'Idempotency-Key': 'seats' };
    const operations = [{ create: seat(1) }, { create: seat(2) }];
    const [first, second] = [await bulk(operations, headers), await bulk(operations, headers)];
    expect(second.body).toEqual(first.body);
    expect(await labels()).toEqual(['A1', 'A2']);
  });

  it('that meets other writes is repeated without an error in the log', async () => {
    const _id = (await app.post('/seats', seat(1), { token })).body._id as string;
    const changes = async (number: number) => {
      for (let i = 0; i < 20; i++) await app.patch(`/seats/${_id}`, { number: number + i }, { token });
    };
    const unit = async () => {
      for (let i = 0; i < 10; i++)
        await bulk([{ create: seat(i + 2) }, { update: { _id, changes: { row: `${i}` } } }]);
    };
    await Promise.all([changes(1), unit(), changes(21)]);
    expect(app.logLines.filter(({ code }) => code === 'INTERNAL_ERROR')).toEqual([]);
  });

  it('says what "atomic" takes', async () => {
    expectInvalid(
      await app.post('/seats/bulk', { atomic: 'yes', operations: [{ create: seat(1) }] }, { token }),
      '/seats/bulk',
      { pointer: '/atomic', detail: '"atomic" must be true or false.' },
    );
  });

  describe('whose operations cannot see each other', () => {
    const plant = (number: number) => ({ create: { name: `Plant ${String(number).padStart(3, '0')}` } });
    const names = async (path: string) =>
      ((await app.get(`${path}?sort=name`)).body as Plant[]).map(({ name, height }) => `${name}: ${height}`);
    const send = (path: string, operations: object[]) =>
      app.post(`${path}/bulk`, { atomic: true, operations });

    it('stores its creates by one command, in their order', async () => {
      const operations = Array.from({ length: 300 }, (_, i) => plant(i));
      const sent = await commandsOf(app, async () =>
        expect((await send('/plants', operations)).body.committed).toBe(true),
      );
      expect(sent.filter(({ name }) => name === 'insert plants')).toHaveLength(1);
      const stored = await app.database.collection('plants').find().sort({ _id: 1 }).toArray();
      expect(stored.map(({ name }) => ({ create: { name: name as string } }))).toEqual(operations);
    });

    it('says which value of which create is there already', async () => {
      await send('/plants', [plant(3)]);
      const { body } = await send('/plants', [1, 2, 3, 4].map(plant));
      const other = { status: 424, code: 'NOT_CARRIED_OUT' };
      const problem = { status: 409, code: 'DUPLICATE_VALUE', errors: [{ pointer: '/name' }] };
      expect(body).toMatchObject({ committed: false, results: [other, other, problem, other] });
      expect(await names('/plants')).toEqual(['Plant 003: 0']);
    });

    const made = async () => (await send('/pots', [1, 2, 3].map(plant))).body.results as { _id: string }[];
    const grow = (_id: string, height: number, ifMatch?: string) => ({
      update: { _id, changes: { height }, ifMatch },
    });

    it('changes each record as its own operation says', async () => {
      const [one, two, three] = (await made()).map(({ _id }) => _id) as [string, string, string];
      const operations = [grow(one, 1), grow(two, 2, '"0"'), grow(three, 3)];
      let body: unknown;
      const sent = await commandsOf(app, async () => ({ body } = await send('/pots', operations)));
      expect(sent.filter(({ name }) => name === 'update pots')).toHaveLength(1);
      expect(body).toEqual({ committed: true, results: Array(3).fill({ status: 200 }) });
      expect(await names('/pots')).toEqual(['Plant 001: 1', 'Plant 002: 2', 'Plant 003: 3']);
    });

    it.each<[string, number, string, string | undefined]>([
      ['is not there', 404, '665f1c2ab7e3a90d4c8b4567', undefined],
      ['has another tag', 412, '', '"7"'],
    ])('changes nothing if a record among others %s', async (_case, status, id, tag) => {
      const [one, two, three] = (await made()).map(({ _id }) => _id) as [string, string, string];
      const { body } = await send('/pots', [grow(one, 1), grow(id || two, 2, tag), grow(three, 3)]);
      const other = { status: 424, code: 'NOT_CARRIED_OUT' };
      expect(body).toMatchObject({ committed: false, results: [other, { status }, other] });
      expect(await names('/pots')).toEqual(['Plant 001: 0', 'Plant 002: 0', 'Plant 003: 0']);
    });
  });
});
