/** @mongodb */
import { ForbiddenException, Injectable } from '@nestjs/common';
import { EventEmitter2 } from '@nestjs/event-emitter';
import { Prop } from '@nestjs/mongoose';
import { setTimeout as pause } from 'node:timers/promises';
import { EntityEventPublisher } from '../../../src/common/events/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { feature, type Made } from '../../support/resource.js';
import { KEPT } from '../../support/whole-records.js';
import { ID, plains, SECRET, stricts, ThingInput, things } from '../../support/value-resources.js';

const seen: { hook: string; record: Made; previous?: Made }[] = [];
const forbid = (name: unknown, forbidden: string) => {
  if (name === forbidden) throw new ForbiddenException('Not today.');
};

@Injectable()
class Hooks {
  constructor(private readonly events: EntityEventPublisher) {}
  async beforeCreate({ record, input }: { record: Made; input: Made }) {
    await pause(5);
    forbid(input.name, 'forbidden');
    record.by = this.events.constructor.name;
  }
  afterCreate({ record }: { record: Made }) {
    seen.push({ hook: 'afterCreate', record });
  }
  beforeUpdate({ record, previous }: { record: Made; previous: Made }) {
    forbid(record.name, 'forbidden');
    if (record.part) Object.assign(record.part, { label: `${String(previous.name)} before` });
  }
  afterUpdate({ record, previous }: { record: Made; previous: Made }) {
    seen.push({ hook: 'afterUpdate', record, previous });
  }
  beforeDel({ record }: { record: Made }) {
    forbid(record.name, 'kept');
  }
  afterDel({ record }: { record: Made }) {
    seen.push({ hook: 'afterDel', record });
  }
}

const app = useResourceApp(
  things,
  stricts,
  plains,
  feature({
    name: 'hookeds',
    fields: ThingInput,
    kept: { by: Prop({ type: String }) },
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
  await app.create('/hookeds', { name: 'a' });
  expect(await raw('hookeds')).toMatchObject({ counter: 7 });
});

it('values of every type are as JSON should have them, in answers and events, and nothing hidden is', async () => {
  const events: unknown[] = [];
  app.app.get(EventEmitter2).on('things.*', (event) => void events.push(event));
  app.app.get(EventEmitter2).on('things.afterCreate', (event) => void events.push(event));
  const part = { label: 'p', maker: ID, price: '1.50' };
  const body = { name: 'a', price: '12.50', part, parts: [part, part], makers: [ID] };
  const created = await app.post('/things', body, { headers: { Prefer: 'return=representation' } });
  const shown = {
    ...body,
    counter: 7,
    labels: { one: ID },
    big: '9007199254740993',
    bytes: Buffer.from('bytes').toString('base64'),
    uuid: 'a5b4d0b2-8b65-4c8a-9a63-2f4f0a5a3c11',
    since: '2026-01-31T00:00:00.000Z',
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
  const constants = {
    big: '9007199254740993',
    uuid: 'a5b4d0b2-8b65-4c8a-9a63-2f4f0a5a3c11',
    since: '2026-01-31T00:00:00.000Z',
  };
  const shown = { ...KEPT, name: 'old', part: {}, box: { open: true }, ...constants };
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
      expect(response.text).not.toMatch(/Strict|Path|model/);
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

it('plain class-validator decorators are documented, and the type is said first', async () => {
  const { PlainCreate, PlainUpdate } = (await app.get('/docs/openapi.json')).body.components.schemas;
  expect(PlainCreate).toMatchObject({
    required: ['email', 'stock'],
    properties: {
      email: { type: 'string', format: 'email' },
      stock: { type: 'integer', minimum: 1, maximum: 9 },
      friends: { type: 'array', items: { type: 'string' } },
    },
  });
  expect(PlainUpdate.properties.friends).toMatchObject({ type: ['array', 'null'] });
  const { body } = await app.post('/plains', { email: 'a@b.example', stock: '5' });
  expect(body.errors).toEqual([{ pointer: '/stock', detail: '"stock" must be a whole number.' }]);
});

describe('a nested merge patch (RFC 7396)', () => {
  const start = { label: 'a', price: '1.00', corner: { x: '1', y: '2' } };
  const thing = async (body: object) => `/things/${await app.create('/things', { name: 'a', ...body })}`;
  const read = async (path: string) => (await app.get(path)).body as { part?: object; parts?: object[] };

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
    expect((await read(path)).part).toEqual(expected);
    expect((await raw('things'))?.part.secret).toBe(SECRET);
  });

  it('replaces lists whole, makes objects that were not there, and removes them', async () => {
    const path = await thing({ parts: [{ label: 'a' }, { label: 'b' }] });
    await app.patch(path, { parts: [{ price: '2.00' }], part: { corner: { x: '1', y: null } } });
    const { part, parts } = await read(path);
    expect([part, parts]).toEqual([{ corner: { x: '1' } }, [{ price: '2.00' }]]);
    await app.patch(path, { part: null });
    expect((await read(path)).part).toBeUndefined();
  });

  it('of different members at once loses none', async () => {
    const path = await thing({ part: { label: 'a' } });
    const [x, y] = [{ corner: { x: '1' } }, { corner: { y: '2' } }];
    const bodies = [{ label: 'b' }, { price: '3.00' }, { maker: ID }, x, y];
    const updates = bodies.map(async (part) => (await app.patch(path, { part })).status);
    expect(await Promise.all(updates)).toEqual([200, 200, 200, 200, 200]);
    const part = { label: 'b', price: '3.00', maker: ID, corner: { x: '1', y: '2' } };
    expect((await read(path)).part).toEqual(part);
  });
});

describe('hooks of a provider', () => {
  /** What a request gets whose hook throws, which the document cannot know. */
  async function refusal(method: string, path: string, body?: object) {
    const sent = body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } };
    const response = await fetch(app.url + path, { method, ...sent });
    const { code, detail } = (await response.json()) as { code: string; detail: string };
    return [response.status, code, detail];
  }

  it('set fields, refuse writes in their own words, and keep hidden values', async () => {
    const one = `/hookeds/${await app.create('/hookeds', { name: 'a', part: { price: '1.00' } })}`;
    expect(await raw('hookeds')).toMatchObject({ by: 'EntityEventPublisher', part: { secret: SECRET } });
    await app.database.collection('hookeds').updateOne({}, { $set: { 'part.secret': 'of its own' } });
    await app.patch(one, { name: 'b' });
    const part = { label: 'a before', secret: 'of its own' };
    expect(await raw('hookeds')).toMatchObject({ name: 'b', part });
    const forbidden = { name: 'forbidden' };
    expect(await refusal('POST', '/hookeds', forbidden)).toEqual([403, 'FORBIDDEN', 'Not today.']);
    expect(await refusal('PATCH', one, forbidden)).toEqual([403, 'FORBIDDEN', 'Not today.']);
    await app.patch(one, { name: 'kept' });
    expect(await refusal('DELETE', one)).toEqual([403, 'FORBIDDEN', 'Not today.']);
    expect(await app.database.collection('hookeds').countDocuments()).toBe(1);
    await app.patch(one, { name: 'c' });
    expect((await app.del(one)).status).toBe(200);
    const updates = Array<string>(3).fill('afterUpdate');
    expect(seen.map(({ hook }) => hook)).toEqual(['afterCreate', ...updates, 'afterDel']);
    expect(JSON.stringify(seen)).not.toContain(SECRET);
  });

  it('are told exactly what each of many updates replaced', async () => {
    const id = await app.create('/hookeds', { name: 'start', counter: 0 });
    const updates = Array.from({ length: 10 }, (_, i) => app.patch(`/hookeds/${id}`, { counter: i + 1 }));
    const statuses = (await Promise.all(updates)).map(({ status }) => status);
    const pairs = seen.filter(({ hook }) => hook === 'afterUpdate');
    const done = statuses.filter((status) => status === 200).length;
    expect(statuses.every((status) => status === 200 || status === 409)).toBe(true);
    expect([pairs.length, done > 0]).toEqual([done, true]);
    // A chain: each write replaced what another one had stored, and none was replaced twice.
    const stored = [0, ...pairs.map(({ record }) => Number(record.counter))];
    const replaced = [...pairs.map(({ previous }) => previous), await raw('hookeds')];
    const counters = replaced.map((record) => Number(record?.counter));
    expect(counters.sort((a, b) => a - b)).toEqual(stored.sort((a, b) => a - b));
  });
});
