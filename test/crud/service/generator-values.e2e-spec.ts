/** @mongodb */
import { ForbiddenException, Injectable } from '@nestjs/common';
import { EventEmitter2 } from '@nestjs/event-emitter';
import { Prop } from '@nestjs/mongoose';
import mongoose, { Types } from 'mongoose';
import { setTimeout as pause } from 'node:timers/promises';
import { RecordNotFoundError } from '../../../src/common/errors/index.js';
import { EntityEventPublisher } from '../../../src/common/events/index.js';
import * as f from '../../../src/common/fields/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { feature, type Made, resource } from '../../support/resource.js';
import { KEPT } from '../../support/whole-records.js';

/** The default of a field that clients never see. */
const SECRET = 'known to the house only';
const ID = '665f1c2ab7e3a90d4c8b0009';

class Corner {
  @f.IsText({ max: 9, optional: true }) x?: string;
  @f.IsText({ max: 9, optional: true }) y?: string;
}

class Part {
  @f.IsText({ max: 20, optional: true }) label?: string;
  @f.IsIdentifier({ optional: true }) maker?: string;
  @f.IsDecimal({ scale: 2, optional: true }) price?: string;
  @f.IsNested(() => Corner, { optional: true }) corner?: Corner;
  @Prop({ type: String, select: false, default: SECRET }) secret?: string;
}

class ThingInput {
  @f.IsText({ max: 80 }) name!: string;
  @f.IsWholeNumber({ min: 0, max: 100_000, optional: true }) counter?: number = 7;
  @f.IsDecimal({ scale: 2, optional: true }) price?: string;
  @f.IsNested(() => Part, { optional: true }) part?: Part;
  @f.IsListOf(() => Part, { max: 5, optional: true }) parts?: Part[];
  @f.IsListOf(f.IsIdentifier(), { max: 5, optional: true }) makers?: string[];
}

/** Defaults that are the same for every record, as answers show them. */
const CONSTANTS = {
  big: '9007199254740993',
  uuid: 'a5b4d0b2-8b65-4c8a-9a63-2f4f0a5a3c11',
  since: '2026-01-31T00:00:00.000Z',
};
const { BigInt: Big, UUID } = mongoose.Schema.Types;
/** Records with values of every type. */
const things = resource({
  name: 'things',
  fields: ThingInput,
  kept: {
    labels: Prop({ type: Map, of: Types.ObjectId, default: () => ({ one: ID }) }),
    big: Prop({ type: Big, default: 9007199254740993n }),
    bytes: Prop({ type: Buffer, default: () => Buffer.from('bytes') }),
    uuid: Prop({ type: UUID, default: CONSTANTS.uuid }),
    since: Prop({ type: Date, default: '2026-01-31' }),
    box: Prop({ type: new mongoose.Schema({ open: { type: Boolean, default: true } }, { _id: false }) }),
  },
});

const strict = (prop: object) => [Prop({ type: String, ...prop }), f.IsText({ max: 80, optional: true })];
const validator = (text: string) => text.length % 2 === 0;
/** Records whose schema demands more than their class. */
const stricts = resource({
  name: 'stricts',
  fields: {
    short: strict({ maxlength: 3 }),
    fixed: strict({ immutable: true }),
    colour: strict({ enum: ['red', 'blue'] }),
    code: strict({ match: /^[a-z]+$/ }),
    even: strict({ validate: { validator, message: 'must be even' } }),
    back: strict({ required: true, default: 'here' }),
    only: strict({ unique: true, sparse: true }),
  },
});

/** What a hook is told. */
type Told = Record<'record' | 'input' | 'previous', Made>;
const seen: (Pick<Told, 'record'> & { hook: string; previous?: Made })[] = [];
const forbid = (name: unknown, forbidden: string) => {
  if (name === forbidden) throw new ForbiddenException('Not today.');
};

/** What a hook makes of a record, by its name. */
const MADE: Readonly<Record<string, object>> = {
  heavy: { counter: 'a ton' },
  long: { name: 'x'.repeat(81) },
  stray: { colour: 'red' },
};

@Injectable()
class Hooks {
  constructor(private readonly events: EntityEventPublisher) {}
  async beforeCreate({ record, input }: Told) {
    await pause(5);
    forbid(input.name, 'forbidden');
    if (input.name === 'lost') throw new RecordNotFoundError('Shelf');
    Object.assign(record, { by: this.events.constructor.name, ...MADE[String(input.name)] });
  }
  afterCreate({ record }: Told) {
    seen.push({ hook: 'afterCreate', record });
  }
  beforeUpdate({ record, previous }: Told) {
    forbid(record.name, 'forbidden');
    if (record.part) Object.assign(record.part, { label: `${String(previous.name)} before` });
  }
  afterUpdate({ record, previous }: Told) {
    seen.push({ hook: 'afterUpdate', record, previous });
  }
  beforeDel({ record }: Told) {
    forbid(record.name, 'kept');
  }
  afterDel({ record }: Told) {
    seen.push({ hook: 'afterDel', record });
  }
}

const refusing = { errors: [403, 404] };
const app = useResourceApp(
  things,
  stricts,
  feature({
    name: 'hookeds',
    fields: ThingInput,
    kept: { by: Prop({ type: String }) },
    routes: { create: refusing, update: refusing, del: refusing },
    hooks: Hooks as never,
  }),
);
beforeEach(async () => {
  seen.length = 0;
  await app.empty();
});

const raw = (name: string) => app.database.collection(name).findOne();

it('a PATCH writes nothing that was not sent, whatever the class initialises', async () => {
  const id = await app.create('/things', { name: 'a', counter: 99 });
  for (const body of [{}, { name: 'b' }]) await app.patch(`/things/${id}`, body);
  expect(await raw('things')).toMatchObject({ name: 'b', counter: 99 });
});

it('values of every type are as JSON should have them, in answers and events, and nothing hidden is', async () => {
  const events: unknown[] = [];
  for (const name of ['things.*', 'things.afterCreate'])
    app.app.get(EventEmitter2).on(name, (event) => void events.push(event));
  const part = { label: 'p', maker: ID, price: '1.50' };
  const body = { name: 'a', price: '12.50', part, parts: [part, part], makers: [ID] };
  const created = await app.post('/things', body, { headers: { Prefer: 'return=representation' } });
  const shown = {
    ...body,
    counter: 7,
    labels: { one: ID },
    bytes: Buffer.from('bytes').toString('base64'),
    ...CONSTANTS,
  };
  expect([created.status, created.body]).toEqual([201, { ...KEPT, ...shown }]);
  expect((await app.get(`/things/${created.body._id}`)).body).toEqual(created.body);
  expect((await app.get('/things')).body).toEqual([created.body]);
  expect((await app.get('/things?limit=1')).body.results).toEqual([created.body]);
  expect(events).toMatchObject([{ record: { ...shown, since: new Date(shown.since) } }]);
  expect(JSON.stringify(events)).not.toContain(SECRET);
  expect((await raw('things'))?.part.secret).toBe(SECRET);
});

it('a record from before its fields had defaults shows those that are the same for every record', async () => {
  const at = { createdAt: new Date(), updatedAt: new Date() };
  await app.database.collection('things').insertOne({ name: 'old', part: {}, box: {}, uuid: null, ...at });
  const shown = { ...KEPT, name: 'old', part: {}, box: { open: true }, ...CONSTANTS };
  expect((await app.get('/things')).body).toEqual([shown]);
});

describe('what the schema refuses is a fault of its field, on create and update alike', () => {
  it.each([
    [{ short: 'long' }, 400, '"short" must be a string of at most 3 characters.'],
    [{ colour: 'green' }, 400, '"colour" must be one of red, blue.'],
    [{ code: '123' }, 400, '"code" does not have the required form.'],
    [{ even: 'odd' }, 400, 'must be even'],
    [{ only: '1' }, 409, 'A record with the same only exists. Choose another value.'],
  ])('%j', async (body, status, detail) => {
    await app.create('/stricts', { only: '1' });
    const one = `/stricts/${await app.create('/stricts', {})}`;
    const code = status === 409 ? 'DUPLICATE_VALUE' : 'VALIDATION_FAILED';
    const errors = [{ pointer: `/${Object.keys(body)[0]}`, detail }];
    for (const response of [await app.post('/stricts', body), await app.patch(one, body)]) {
      expect([response.status, response.body.code, response.body.errors]).toEqual([status, code, errors]);
      expect(response.text).not.toMatch(/Strict|Path|model|E11000|collection|index/);
    }
  });

  it('a value that is immutable; null gives a required one its default back', async () => {
    const one = `/stricts/${await app.create('/stricts', { fixed: 'a', back: 'x' })}`;
    const { status, body } = await app.patch(one, { fixed: 'b' });
    const errors = [{ pointer: '/fixed', detail: '"fixed" cannot be changed.' }];
    expect([status, body.errors]).toEqual([400, errors]);
    expect((await app.patch(one, { back: null })).status).toBe(200);
    expect(await raw('stricts')).toMatchObject({ fixed: 'a', back: 'here' });
  });
});

describe('a nested merge patch (RFC 7396)', () => {
  const start = { label: 'a', price: '1.00', corner: { x: '1', y: '2' } };
  const thing = async (body: object) => `/things/${await app.create('/things', { name: 'a', ...body })}`;

  it.each<[object, object]>([
    [{ label: 'b' }, { ...start, label: 'b' }],
    [{ label: null }, { price: '1.00', corner: { x: '1', y: '2' } }],
    [{ corner: { x: '9' } }, { ...start, corner: { x: '9', y: '2' } }],
    [{ corner: { x: null } }, { ...start, corner: { y: '2' } }],
    [{ corner: null }, { label: 'a', price: '1.00' }],
    [{}, start],
  ])('%j', async (part, expected) => {
    const path = await thing({ part: start });
    expect((await app.patch(path, { part })).body).toEqual({ updated: true });
    expect((await app.get(path)).body.part).toEqual(expected);
    expect((await raw('things'))?.part.secret).toBe(SECRET);
  });

  it('replaces lists whole, makes objects that were not there, and removes them', async () => {
    const path = await thing({ parts: [{ label: 'a' }, { label: 'b' }] });
    await app.patch(path, { parts: [{ price: '2.00' }], part: { corner: { x: '1', y: null } } });
    const { part, parts } = (await app.get(path)).body;
    expect([part, parts]).toEqual([{ corner: { x: '1' } }, [{ price: '2.00' }]]);
    await app.patch(path, { part: null });
    expect((await app.get(path)).body).not.toHaveProperty('part');
  });

  it('of different members at once loses none', async () => {
    const path = await thing({ part: { label: 'a' } });
    const corners = [{ corner: { x: '1' } }, { corner: { y: '2' } }];
    const bodies = [{ label: 'b' }, { price: '3.00' }, { maker: ID }, ...corners];
    const updates = bodies.map(async (part) => (await app.patch(path, { part })).status);
    expect(await Promise.all(updates)).toEqual([200, 200, 200, 200, 200]);
    const part = { label: 'b', price: '3.00', maker: ID, corner: { x: '1', y: '2' } };
    expect((await app.get(path)).body.part).toEqual(part);
  });
});

it('hooks of a provider set fields, refuse writes in their own words, and keep hidden values', async () => {
  const one = `/hookeds/${await app.create('/hookeds', { name: 'a', part: { price: '1.00' } })}`;
  const by = 'EntityEventPublisher';
  expect(await raw('hookeds')).toMatchObject({ by, counter: 7, part: { secret: SECRET } });
  await app.database.collection('hookeds').updateOne({}, { $set: { 'part.secret': 'of its own' } });
  await app.patch(one, { name: 'b' });
  const part = { label: 'a before', secret: 'of its own' };
  expect(await raw('hookeds')).toMatchObject({ name: 'b', part });
  const refusal = { status: 403, body: { code: 'FORBIDDEN', detail: 'Not today.' } };
  expect(await app.post('/hookeds', { name: 'forbidden' })).toMatchObject(refusal);
  expect(await app.patch(one, { name: 'forbidden' })).toMatchObject(refusal);
  await app.patch(one, { name: 'kept' });
  expect(await app.del(one)).toMatchObject(refusal);
  expect(await app.database.collection('hookeds').countDocuments()).toBe(1);
  await app.patch(one, { name: 'c' });
  expect((await app.del(one)).status).toBe(200);
  const updates = Array<string>(3).fill('afterUpdate');
  expect(seen.map(({ hook }) => hook)).toEqual(['afterCreate', ...updates, 'afterDel']);
  expect(JSON.stringify(seen)).not.toContain(SECRET);
});

it.each([
  ['lost', 404, 'RECORD_NOT_FOUND', 'Shelf not found'],
  ['heavy', 400, 'VALIDATION_FAILED', 'The request is not valid: "counter" must be a number.'],
  ['stray', 500, 'INTERNAL_ERROR', expect.stringContaining('Something went wrong on our side.')],
])('nothing is stored if a hook makes a %s record: %i', async (name, status, code, detail) => {
  expect(await app.post('/hookeds', { name })).toMatchObject({ status, body: { code, detail } });
  expect(await raw('hookeds')).toBeNull();
});

it('a hook may exceed a bound of the input', async () => {
  await app.create('/hookeds', { name: 'long' });
});
