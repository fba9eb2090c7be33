/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsText, IsTextList, schemaOf } from '../../../src/common/fields/index.js';
import { anyOf, claim } from '../../../src/common/tenancy/index.js';
import { createResourceApp } from '../../support/resource-app.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import type { TestApp } from '../../support/test-app.js';
import { resource } from '../../support/resource.js';

const [ada, bob] = await Promise.all([tokenOf(ACME, { sub: 'ada' }), tokenOf(ACME, { sub: 'bob' })]);

const reader = { readers: claim('sub') };
const writer = { writers: claim('sub') };
/** Some may read it, and some may change it. */
const reports = resource({
  name: 'reports',
  kept: {
    readers: Prop({ type: [String] }),
    writers: Prop({ type: [String] }),
    deletedAt: Prop({ type: Date }),
  },
  isolationFields: { get: reader, create: { ...reader, ...writer }, update: writer, del: writer },
});
const schema = () => schemaOf(reports.entity);

describe('a resource that isolates reads and writes by two lists', () => {
  it.each<[string, string, Partial<typeof reports>]>([
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
      { schema: schema().index({ readers: 1, createdAt: -1, _id: -1 }, { name: 'newest' }) },
    ],
    ['one index written twice', '?limit=5', { schema: schema().index({ text: 1 }).index({ text: 1 }) }],
  ])('serves records with %s', async (_name, query, change) => {
    const app = await createResourceApp(CrudModule.forFeature({ ...reports, ...change }));
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
  const app = await createResourceApp(
    CrudModule.forFeature({
      ...reports,
      schema: schema().index({ readers: 1, text: 1 }, { unique: true }),
      globallyUnique: ['readers', 'text'],
      isolationFields: { all: { ...reader, ...writer } },
    }),
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
  it.each([
    [
      schema().index({ text: 1 }, { name: 'by' }).index({ readers: 1 }, { name: 'by' }),
      'The collection "reports" would have two indexes named "by", with the keys {"text":1} and {"readers":1}. Give one of them another name, or leave it out.',
    ],
    [
      schema().index({ text: 1 }).index({ text: 1 }, { sparse: true }),
      'The collection "reports" would have two indexes named "text_1", with the keys {"text":1} and {"text":1}. Give one of them another name, or leave it out.',
    ],
    [
      schema().index({ text: 1 }).index({ text: 1 }, { name: 'by' }),
      'The collection "reports" would have the index {"text":1} twice, named "text_1" and "by". Leave one of them out.',
    ],
    [
      schema().index({ text: 'text' }).index({ readers: 'text' }),
      'The collection "reports" would have two indexes for full text, named "text_text" and "readers_text". Leave one of them out.',
    ],
  ])('stop the start with one sentence: %#', async (indexed, sentence) => {
    const start = createResourceApp(CrudModule.forFeature({ ...reports, schema: indexed }));
    // An application that starts would keep the test from ending.
    await expect(start.then((app: TestApp) => app.close())).rejects.toThrow(new Error(sentence));
  });
});

it('a unique value beside a list of readers that clients write stops the start', async () => {
  const members = IsTextList({ maxEntries: 5, entry: { max: 9 }, optional: true });
  const fields = { members, slug: IsText({ max: 20 }) };
  const startOf = async (isolationFields: object, keys: Record<string, 1>) => {
    const kept = { author: Prop({ type: String }) };
    const notes = resource({ name: 'notes', fields, kept, isolationFields });
    const schema = schemaOf(notes.entity).index(keys, { unique: true });
    await (await createResourceApp(CrudModule.forFeature({ ...notes, schema }))).close();
  };
  const [author, shared] = [{ author: claim('sub') }, { members: claim('sub') }];
  const told = 'tells those who write "members" of others.';
  await expect(startOf({ all: shared }, { slug: 1 })).rejects.toThrow(`unique {"slug":1} ${told}`);
  const either = { create: author, get: anyOf(author, shared) };
  await expect(startOf(either, { members: 1, slug: 1 })).rejects.toThrow(told);
});
