/** @mongodb */
import { ForbiddenException, Injectable } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import { setTimeout as pause } from 'node:timers/promises';
import { CrudModule } from '../../../src/common/crud/index.js';
import { EntityEventPublisher } from '../../../src/common/events/index.js';
import { IsText } from '../../../src/common/fields/index.js';
import { createResourceApp, useResourceApp } from '../../support/resource-app.js';
import {
  Hooked,
  ID,
  PlainInput,
  PlainOne,
  SECRET,
  Strict,
  StrictInput,
  Thing,
  ThingInput,
} from '../../support/value-entities.js';
import { EventEmitter2 } from '@nestjs/event-emitter';

const seen: { hook: string; record: unknown; previous?: unknown }[] = [];

@Injectable()
class Hooks {
  constructor(private readonly events: EntityEventPublisher) {}
  async beforeCreate({ record, input }: { record: Record<string, unknown>; input: { name: string } }) {
    await pause(5);
    if (input.name === 'forbidden') throw new ForbiddenException('Not today.');
    record.by = this.events.constructor.name;
  }
  afterCreate({ record }: { record: unknown }) {
    seen.push({ hook: 'afterCreate', record });
  }
  beforeUpdate({ record, previous }: { record: Record<string, unknown>; previous: { name: string } }) {
    if (record.name === 'forbidden') throw new ForbiddenException('Not today.');
    if (record.part) Object.assign(record.part, { label: `${previous.name} before` });
  }
  afterUpdate({ record, previous }: { record: unknown; previous: unknown }) {
    seen.push({ hook: 'afterUpdate', record, previous });
  }
  beforeDel({ record }: { record: { name: string } }) {
    if (record.name === 'kept') throw new ForbiddenException('Not today.');
  }
  afterDel({ record }: { record: unknown }) {
    seen.push({ hook: 'afterDel', record });
  }
}

function noteOf(field: string) {
  class NoteInput {
    [field: string]: unknown;
  }
  IsText({ max: 9 })(NoteInput.prototype, field);
  @Schema({ timestamps: true })
  class Note extends NoteInput {}
  return { entity: Note, input: NoteInput };
}

interface Replaced {
  record: { counter: number };
  previous: { counter: number };
}

const app = useResourceApp(
  CrudModule.forFeature({ entity: Thing, input: ThingInput, name: 'things' }),
  CrudModule.forFeature({ entity: Strict, input: StrictInput, name: 'stricts' }),
  CrudModule.forFeature({ entity: PlainOne, input: PlainInput, name: 'plains' }),
  CrudModule.forFeature({ entity: Hooked, input: ThingInput, name: 'hookeds', hooks: Hooks as never }),
);
beforeEach(async () => {
  seen.length = 0;
  await app.empty();
});

const create = async (path: string, body: object) => (await app.post(path, body)).body._id as string;
/** Status, code and text of an error that a hook throws, which the document cannot know. */
async function refusal(method: string, path: string, body?: object) {
  const response = await fetch(app.url + path, {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
  });
  const { code, detail } = (await response.json()) as { code: string; detail: string };
  return [response.status, code, detail];
}
const raw = (name: string) => app.database.collection(name).findOne();

it('a PATCH writes nothing that was not sent, whatever the class initialises', async () => {
  const id = await create('/things', { name: 'a', counter: 99 });
  for (const body of [{}, { name: 'b' }]) await app.patch(`/things/${id}`, body);
  expect(await raw('things')).toMatchObject({ name: 'b', counter: 99 });
  await create('/hookeds', { name: 'a' });
  expect(await raw('hookeds')).toMatchObject({ counter: 7 });
});

it('two classes of one name are refused, and serve nothing of each other', async () => {
  const [one, other] = [noteOf('text'), noteOf('title')];
  await expect(
    createResourceApp(
      CrudModule.forFeature({ ...one, name: 'ones' }),
      CrudModule.forFeature({ ...other, name: 'others' }),
    ),
  ).rejects.toThrow('is another class named Note. Rename one of the two.');
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
  };
  expect(created.status).toBe(201);
  expect(created.body).toEqual({
    ...shown,
    _id: created.body._id,
    createdAt: expect.any(String),
    updatedAt: expect.any(String),
  });
  expect((await app.get(`/things/${created.body._id}`)).body).toEqual(created.body);
  expect((await app.get('/things')).body).toEqual([created.body]);
  expect((await app.get('/things?limit=1')).body.results).toEqual([created.body]);
  expect(events).toMatchObject([{ record: shown }]);
  expect(JSON.stringify(events)).not.toContain(SECRET);
  expect((await raw('things'))?.part.secret).toBe(SECRET);
});

describe('what the schema refuses is a fault of its field, on create and update alike', () => {
  it.each([
    [{ short: 'long' }, '"short" must be a string of at most 3 characters.'],
    [{ colour: 'green' }, '"colour" must be one of red, blue.'],
    [{ code: '123' }, '"code" does not have the required form.'],
    [{ even: 'odd' }, 'must be even'],
  ])('%j', async (body, detail) => {
    const [field = ''] = Object.keys(body);
    const id = await create('/stricts', {});
    for (const response of [await app.post('/stricts', body), await app.patch(`/stricts/${id}`, body)]) {
      expect([response.status, response.body.code]).toEqual([400, 'VALIDATION_FAILED']);
      expect(response.body.errors).toEqual([{ pointer: `/${field}`, detail }]);
      expect(response.text).not.toMatch(/Strict|Path|model/);
    }
  });

  it('immutable, null on a required field with a default, and unique', async () => {
    const id = await create('/stricts', { fixed: 'a', back: 'x', only: '1' });
    const immutable = await app.patch(`/stricts/${id}`, { fixed: 'b' });
    expect([immutable.status, immutable.body.errors]).toEqual([
      400,
      [{ pointer: '/fixed', detail: '"fixed" cannot be changed.' }],
    ]);
    expect((await app.patch(`/stricts/${id}`, { back: null })).status).toBe(200);
    expect(await raw('stricts')).toMatchObject({ fixed: 'a', back: 'here' });
    const other = await create('/stricts', {});
    for (const response of [
      await app.post('/stricts', { only: '1' }),
      await app.patch(`/stricts/${other}`, { only: '1' }),
    ]) {
      expect([response.status, response.body.code, response.body.errors[0].pointer]).toEqual([
        409,
        'DUPLICATE_VALUE',
        '/only',
      ]);
    }
  });
});

it('plain class-validator decorators are documented, and the type is said first', async () => {
  const { components } = (await app.get('/docs/openapi.json')).body;
  expect(components.schemas.PlainOneCreate).toMatchObject({
    required: ['email', 'stock'],
    properties: {
      email: { type: 'string', format: 'email' },
      stock: { type: 'integer', minimum: 1, maximum: 9 },
      friends: { type: 'array', items: { type: 'string' } },
    },
  });
  expect(components.schemas.PlainOneUpdate.properties.friends).toMatchObject({ type: ['array', 'null'] });
  const { body } = await app.post('/plains', { email: 'a@b.example', stock: '5' });
  expect(body.errors).toEqual([{ pointer: '/stock', detail: '"stock" must be a whole number.' }]);
});

describe('a nested merge patch (RFC 7396)', () => {
  const start = { label: 'a', price: '1.00', corner: { x: '1', y: '2' } };
  it.each<[object, object | undefined]>([
    [{ label: 'b' }, { ...start, label: 'b' }],
    [{ label: null }, { price: '1.00', corner: { x: '1', y: '2' } }],
    [{ corner: { x: '9' } }, { ...start, corner: { x: '9', y: '2' } }],
    [{ corner: { x: null } }, { ...start, corner: { y: '2' } }],
    [{ corner: null }, { label: 'a', price: '1.00' }],
    [{}, start],
  ])('%j', async (part, expected) => {
    const id = await create('/things', { name: 'a', part: start });
    expect((await app.patch(`/things/${id}`, { part })).body).toEqual({ updated: true });
    expect((await app.get(`/things/${id}`)).body.part).toEqual(expected);
    expect((await raw('things'))?.part.secret).toBe(SECRET);
  });

  it('replaces lists whole, makes objects that were not there, and removes them', async () => {
    const id = await create('/things', { name: 'a', parts: [{ label: 'a' }, { label: 'b' }] });
    await app.patch(`/things/${id}`, { parts: [{ price: '2.00' }], part: { corner: { x: '1', y: null } } });
    expect((await app.get(`/things/${id}`)).body).toMatchObject({
      parts: [{ price: '2.00' }],
      part: { corner: { x: '1' } },
    });
    expect((await app.get(`/things/${id}`)).body.part.corner).toEqual({ x: '1' });
    await app.patch(`/things/${id}`, { part: null });
    expect((await app.get(`/things/${id}`)).body.part).toBeUndefined();
  });

  it('of different members at once loses none', async () => {
    const id = await create('/things', { name: 'a', part: { label: 'a' } });
    const bodies = [
      { label: 'b' },
      { price: '3.00' },
      { maker: ID },
      { corner: { x: '1' } },
      { corner: { y: '2' } },
    ];
    const statuses = await Promise.all(
      bodies.map(async (part) => (await app.patch(`/things/${id}`, { part })).status),
    );
    expect(statuses).toEqual([200, 200, 200, 200, 200]);
    expect((await app.get(`/things/${id}`)).body.part).toEqual({
      label: 'b',
      price: '3.00',
      maker: ID,
      corner: { x: '1', y: '2' },
    });
  });
});

describe('hooks of a provider', () => {
  it('set fields, refuse writes in their own words, and keep hidden values', async () => {
    const id = await create('/hookeds', { name: 'a', part: { price: '1.00' } });
    expect(await raw('hookeds')).toMatchObject({ by: 'EntityEventPublisher', part: { secret: SECRET } });
    await app.database.collection('hookeds').updateOne({}, { $set: { 'part.secret': 'of its own' } });
    await app.patch(`/hookeds/${id}`, { name: 'b' });
    expect(await raw('hookeds')).toMatchObject({
      name: 'b',
      part: { label: 'a before', secret: 'of its own' },
    });
    const forbidden = { name: 'forbidden' };
    expect(await refusal('POST', '/hookeds', forbidden)).toEqual([403, 'FORBIDDEN', 'Not today.']);
    expect(await refusal('PATCH', `/hookeds/${id}`, forbidden)).toEqual([403, 'FORBIDDEN', 'Not today.']);
    await app.patch(`/hookeds/${id}`, { name: 'kept' });
    expect(await refusal('DELETE', `/hookeds/${id}`)).toEqual([403, 'FORBIDDEN', 'Not today.']);
    expect(await app.database.collection('hookeds').countDocuments()).toBe(1);
    await app.patch(`/hookeds/${id}`, { name: 'c' });
    expect((await app.del(`/hookeds/${id}`)).status).toBe(200);
    expect(seen.map(({ hook }) => hook)).toEqual([
      'afterCreate',
      'afterUpdate',
      'afterUpdate',
      'afterUpdate',
      'afterDel',
    ]);
    expect(JSON.stringify(seen)).not.toContain(SECRET);
  });

  it('are told exactly what each of many updates replaced', async () => {
    const id = await create('/hookeds', { name: 'start', counter: 0 });
    const updates = Array.from({ length: 10 }, (_, i) => app.patch(`/hookeds/${id}`, { counter: i + 1 }));
    const counts = (await Promise.all(updates)).map(({ status }) => status);
    const pairs = seen.filter(({ hook }) => hook === 'afterUpdate') as unknown as Replaced[];
    const done = counts.filter((status) => status === 200).length;
    expect(counts.every((status) => status === 200 || status === 409)).toBe(true);
    expect([pairs.length, done > 0]).toEqual([done, true]);
    // A chain: each write replaced what another one had stored, and none was replaced twice.
    const stored = [0, ...pairs.map(({ record }) => record.counter)];
    const replaced = [
      ...pairs.map(({ previous }) => previous.counter),
      (await raw('hookeds'))?.counter as number,
    ];
    expect(replaced.sort((a, b) => a - b)).toEqual(stored.sort((a, b) => a - b));
  });
});
