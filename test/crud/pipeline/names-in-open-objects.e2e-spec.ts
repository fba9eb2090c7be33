/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { IsObject, IsOptional } from 'class-validator';
import { Schema, Types } from 'mongoose';
import { IsListOf } from '../../../src/index.js';
import { expectInvalid, expectProblem } from '../../support/problems.js';
import { feature } from '../../support/resource.js';
import { useResourceApp } from '../../support/resource-app.js';
import type { TestResponse } from '../../support/test-app.js';

class Shelf {
  @Prop({ type: Map, of: String }) @IsObject() @IsOptional() labels?: Record<string, string>;
}
class SettingInput extends Shelf {
  @Prop({ type: Schema.Types.Mixed }) @IsObject() @IsOptional() extra?: Record<string, unknown>;
  @IsListOf(() => Shelf, { max: 9, optional: true }) shelves?: Shelf[];
}

const HARMFUL =
  'The body is nested too deeply, or has an object with more than 10,000 names or a nested field named "constructor" or "_bsontype".';

const NO_JSON = 'The body is not valid JSON. Send one JSON object, encoded in UTF-8.';

describe('names that clients choose', () => {
  const app = useResourceApp(feature({ name: 'settings', fields: SettingInput, bulk: true, import: true }));

  const create = async (body: object) => `/settings/${await app.create('/settings', body)}`;
  /** Sends a body as a new record, and as a change of one. */
  const both = async (body: object | string, before: object = { labels: { a: 'b' } }) => {
    const one = await create(before);
    return [
      { path: '/settings', response: await app.post('/settings', body) },
      { path: one, response: await app.patch(one, body) },
    ];
  };
  /** Stores a record with an object that no client could send. */
  async function storedWith(extra: object) {
    const one = await create({});
    const _id = new Types.ObjectId(one.split('/').at(-1));
    await app.database.collection('settings').updateOne({ _id }, { $set: { extra } });
    return one;
  }
  const expectTooLarge = (response: TestResponse, instance: string, detail: string) =>
    expectProblem(response, { status: 413, code: 'BODY_TOO_LARGE', detail, instance });

  it.each(['a.b', '.', '$a'])('a map cannot have the name %s', async (name) => {
    for (const [labels, at, pointer] of [
      [{ labels: { fine: 'x', [name]: 'y' } }, 'labels', '/labels'],
      [{ shelves: [{}, { labels: { [name]: 'y' } }] }, 'shelves.1.labels', '/shelves/1/labels'],
    ] as const) {
      const detail = `"${at}" cannot have the name "${name}". Leave out dots, and "$" at the start.`;
      for (const { path, response } of await both(labels))
        expectInvalid(response, path, { pointer: `${pointer}/${name}`, detail });
    }
  });

  it.each(['labels', 'extra'])('no object of "%s" can have a name that BSON would cut', async (field) => {
    for (const { path, response } of await both({ [field]: { 'a\0b': 'y' } })) {
      const detail = `"${field}" must not hold a name with the character U+0000.`;
      expectInvalid(response, path, { pointer: `/${field}`, detail });
    }
  });

  it.each([
    ['{"labels":{"a":"x"},"labels":{}}', '/labels', 'labels'],
    ['{"labels":{"a":"x","b":"y","a":"x"}}', '/labels/a', 'a'],
    ['{"labels" : {"a":"x"}, "\\u006cabels" : {}}', '/labels', 'labels'],
    ['{"extra":{"q\\"":1,"b":{},"q\\u0022":2}}', '/extra/q"', 'q"'],
    ['{"shelves":[{},{"labels":{"a/~":"{\\"","a/~":"y"}}]}', '/shelves/1/labels/a~1~0', 'a/~'],
    ['{"extra":{"__proto__":1,"__proto__":2}}', '/extra/__proto__', '__proto__'],
    ['{"extra":{"":1,"":2}}', '/extra/', ''],
  ])('an object cannot have a name twice: %s', async (body, pointer, name) => {
    const detail = `"${name}" occurs twice in one object. Send it once.`;
    for (const { path, response } of await both(body, {})) expectInvalid(response, path, { pointer, detail });
    const bulk = await app.post('/settings/bulk', `{"operations":[{"del":{"_id":"a"}},{"create":${body}}]}`);
    expectInvalid(bulk, '/settings/bulk', { pointer: `/operations/1/create${pointer}`, detail });
    const headers = { 'Content-Type': 'application/x-ndjson' };
    const lines = `{"labels":{}}\n${body}\n{"labels":{}}\n`;
    expect((await app.post('/settings/import', lines, { headers })).body).toMatchObject([
      { line: 1, status: 201 },
      { line: 2, status: 400, errors: [{ pointer, detail }] },
      { line: 3, status: 201 },
    ]);
  });

  it.each([
    ['the same names in different objects', { a: { a: [{ a: 1 }, { a: '"a":1,"a":2' }] }, b: { a: 1 } }],
    ['dots and dollars in its names', { 'a.b': 1, $set: { c: 1 } }],
  ])('a free object may have %s', async (_names, extra) => {
    for (const { response } of await both({ extra, shelves: [{}, {}] }))
      expect(response.status).toBeLessThan(300);
  });

  it('an object cannot grow beyond the size of a body by merging', async () => {
    const one = await create({});
    const text = 'x'.repeat(600_000);
    expect((await app.patch(one, { extra: { a: text } })).status).toBe(200);
    const detail =
      'The body, merged into the record, is larger than 1048576 bytes. Send less, or remove something.';
    expectTooLarge(await app.patch(one, { extra: { b: text } }), one, detail);
    expect((await app.patch(one, { extra: { a: null, b: text } })).status).toBe(200);
    expect((await app.patch(one, { extra: { c: 'y' }, labels: { d: 'z' } })).status).toBe(200);
  });

  it('an object that has grown beyond the size of a body by other means can still be changed', async () => {
    const text = 'x'.repeat(600_000);
    const one = await storedWith({ a: text, b: text, c: text });
    expect((await app.patch(one, { extra: { d: 'y' } })).status).toBe(413);
    expect((await app.patch(one, { extra: { a: null } })).status).toBe(200);
  });

  it('a record cannot grow beyond what the database can store', async () => {
    const one = await storedWith({ texts: Array(16).fill('x'.repeat(1_000_000)) });
    const response = await app.patch(one, { shelves: [{ labels: { a: 'y'.repeat(900_000) } }] });
    const detail = 'The record would be larger than the database can store. Send less, or remove something.';
    expectTooLarge(response, one, detail);
  });

  it.each([
    ['constructor', '{"constructor":1}', HARMFUL],
    ['_bsontype', '[{"_bsontype":"MinKey"}]', HARMFUL],
    ['__proto__', '{"__proto__":{"a":1}}', NO_JSON],
    ['a name at the 34th level', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, HARMFUL],
  ])('no field, known or unknown, can hold %s', async (_name, extra, detail) => {
    for (const body of [`{"extra":${extra}}`, `{"unknown":${extra}}`]) {
      const response = await app.post('/settings', body);
      expectProblem(response, { status: 400, code: 'MALFORMED_REQUEST', detail, instance: '/settings' });
    }
  });
});
