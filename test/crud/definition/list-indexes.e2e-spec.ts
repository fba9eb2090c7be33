/** @mongodb */
import { Prop, Schema } from '@nestjs/mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsText, schemaOf } from '../../../src/common/fields/index.js';
import { claim } from '../../../src/common/tenancy/index.js';
import { createResourceApp } from '../../support/resource-app.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import type { TestApp } from '../../support/test-app.js';

const [ada, bob] = await Promise.all([tokenOf(ACME, { sub: 'ada' }), tokenOf(ACME, { sub: 'bob' })]);

class ReportInput {
  @IsText({ max: 80 }) text!: string;
}

/** Some may read it, and some may change it. */
@Schema({ timestamps: true })
class Report extends ReportInput {
  @Prop({ type: [String] }) readers?: string[];
  @Prop({ type: [String] }) writers?: string[];
  @Prop({ type: Date }) deletedAt?: Date;
}

const reader = { readers: claim('sub') };
const writer = { writers: claim('sub') };
const reports = {
  entity: Report,
  input: ReportInput,
  name: 'reports',
  isolationFields: { get: reader, create: { ...reader, ...writer }, update: writer, del: writer },
} as const;

describe('a resource that isolates reads and writes by two lists', () => {
  it.each<[string, string, object]>([
    ['no query', '', {}],
    ['orders', '?sort=text', { query: { sort: ['text'] } }],
    ['a search', '?q=tea', { query: { search: ['text'] } }],
    ['an archive', '?archived=include', { archive: { field: 'deletedAt' } }],
    [
      'all of them',
      '?q=tea&sort=text&archived=include',
      { query: { sort: ['text'], search: ['text'] }, archive: { field: 'deletedAt' } },
    ],
    [
      'the index of its lists',
      '?limit=5',
      { schema: schemaOf(Report).index({ readers: 1, createdAt: -1, _id: -1 }, { name: 'newest' }) },
    ],
    [
      'one index written twice',
      '?limit=5',
      { schema: schemaOf(Report).index({ text: 1 }).index({ text: 1 }) },
    ],
  ])('serves records with %s', async (_name, query, change) => {
    const app = await createResourceApp(CrudModule.forFeature({ ...reports, ...change } as typeof reports));
    try {
      const created = await app.post('/reports', { text: 'tea' }, { token: ada });
      expect(created.status).toBe(201);
      const id = created.body._id as string;
      const read = async (token: string) => {
        const { body } = await app.get(`/reports${query}`, { token });
        return ('results' in body ? body.results : body) as object[];
      };
      expect(await read(ada)).toMatchObject([{ _id: id, text: 'tea', readers: ['ada'], writers: ['ada'] }]);
      expect(await read(bob)).toEqual([]);
      expect((await app.patch(`/reports/${id}`, { text: 'x' }, { token: bob })).status).toBe(404);
      expect((await app.patch(`/reports/${id}`, { text: 'x' }, { token: ada })).status).toBe(200);
    } finally {
      await app.close();
    }
  });
});

it('a unique index of one list keeps values unique among those in that list', async () => {
  const schema = schemaOf(Report).index({ readers: 1, text: 1 }, { unique: true });
  const globallyUnique = ['readers', 'text'];
  const app = await createResourceApp(
    CrudModule.forFeature({
      ...reports,
      schema,
      globallyUnique,
      isolationFields: { all: { ...reader, ...writer } },
    } as never),
  );
  try {
    for (const [sub, status] of [
      ['ada', 201],
      ['bob', 201],
      ['ada', 409],
    ] as const) {
      const answer = await app.post('/reports', { text: 'tea' }, { token: await tokenOf(ACME, { sub }) });
      expect([sub, answer.status]).toEqual([sub, status]);
    }
  } finally {
    await app.close();
  }
});

describe('indexes that cannot be built together', () => {
  const index = () => schemaOf(Report);
  it.each([
    [
      index().index({ text: 1 }, { name: 'by' }).index({ readers: 1 }, { name: 'by' }),
      'The collection "reports" would have two indexes named "by", with the keys {"text":1} and {"readers":1}. Give one of them another name, or leave it out.',
    ],
    [
      index().index({ text: 1 }).index({ text: 1 }, { sparse: true }),
      'The collection "reports" would have two indexes named "text_1", with the keys {"text":1} and {"text":1}. Give one of them another name, or leave it out.',
    ],
    [
      index().index({ text: 1 }).index({ text: 1 }, { name: 'by' }),
      'The collection "reports" would have the index {"text":1} twice, named "text_1" and "by". Leave one of them out.',
    ],
    [
      index().index({ text: 'text' }).index({ readers: 'text' }),
      'The collection "reports" would have two indexes for full text, named "text_text" and "readers_text". Leave one of them out.',
    ],
  ])('stop the start with one sentence: %#', async (schema, sentence) => {
    const start = createResourceApp(CrudModule.forFeature({ ...reports, schema } as never));
    // An application that starts would keep the test from ending.
    await expect(start.then((app: TestApp) => app.close())).rejects.toThrow(new Error(sentence));
  });
});
