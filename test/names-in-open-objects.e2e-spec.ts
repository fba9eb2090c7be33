import { Prop, Schema } from '@nestjs/mongoose';
import { IsObject, IsOptional } from 'class-validator';
import { Schema as MongooseSchema } from 'mongoose';
import { CrudModule } from '../src/common/crud/index.js';
import { IsListOf } from '../src/common/fields/index.js';
import { expectInvalid, expectProblem } from './support/problems.js';
import { createResourceApp } from './support/resource-app.js';
import type { TestApp } from './support/test-app.js';

class Shelf {
  @Prop({ type: Map, of: String })
  @IsObject()
  @IsOptional()
  labels?: Record<string, string>;
}

class SettingInput extends Shelf {
  @Prop({ type: MongooseSchema.Types.Mixed })
  @IsObject()
  @IsOptional()
  extra?: Record<string, unknown>;

  @IsListOf(() => Shelf, { max: 9, optional: true })
  shelves?: Shelf[];
}

@Schema({ timestamps: true })
class Setting extends SettingInput {}

const HARMFUL = 'The body is nested too deeply, or has a nested field named "constructor" or "_bsontype".';

describe('names that clients choose', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await createResourceApp(
      CrudModule.forFeature({ entity: Setting, input: SettingInput, name: 'settings' }),
    );
  });
  afterAll(() => app.close());

  const both = async (body: object) => {
    const one = `/settings/${(await app.post('/settings', { labels: { a: 'b' } })).body._id}`;
    return [
      { path: '/settings', response: await app.post('/settings', body) },
      { path: one, response: await app.patch(one, body) },
    ];
  };

  it.each(['a.b', '.', '$a'])('a map cannot have the name %s', async (name) => {
    const detail = (at: string) =>
      `"${at}" cannot have the name "${name}". Leave out dots, and "$" at the start.`;
    for (const { path, response } of await both({ labels: { fine: 'x', [name]: 'y' } })) {
      expectInvalid(response, path, { pointer: `/labels/${name}`, detail: detail('labels') });
    }
    for (const { path, response } of await both({ shelves: [{}, { labels: { [name]: 'y' } }] })) {
      expectInvalid(response, path, {
        pointer: `/shelves/1/labels/${name}`,
        detail: detail('shelves.1.labels'),
      });
    }
  });

  it.each(['labels', 'extra'])('no object of "%s" can have a name that BSON would cut', async (field) => {
    for (const { path, response } of await both({ [field]: { 'a\0b': 'y' } })) {
      const detail = `"${field}" must not hold a name with the character U+0000.`;
      expectInvalid(response, path, { pointer: `/${field}`, detail });
    }
  });

  it('a free object may have dots and dollars in its names', async () => {
    for (const { response } of await both({ extra: { 'a.b': 1, $set: { c: 1 } } })) {
      expect(response.status).toBeLessThan(300);
    }
  });

  it.each([
    ['constructor', '{"constructor":1}', HARMFUL],
    ['_bsontype', '[{"_bsontype":"MinKey"}]', HARMFUL],
    [
      '__proto__',
      '{"__proto__":{"a":1}}',
      'The body is not valid JSON. Send one JSON object, encoded in UTF-8.',
    ],
    ['a name at the 34th level', `${'{"a":'.repeat(33)}1${'}'.repeat(33)}`, HARMFUL],
  ])('no field, known or unknown, can hold %s', async (_name, extra, detail) => {
    for (const body of [`{"extra":${extra}}`, `{"unknown":${extra}}`]) {
      const response = await app.post('/settings', body);
      expectProblem(response, { status: 400, code: 'MALFORMED_REQUEST', detail, instance: '/settings' });
    }
  });
});
