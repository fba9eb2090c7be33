/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { anyOf, claim, IsListOf, IsText, schemaOf } from '../../../src/index.js';
import { resource } from '../../support/resource.js';
import { createResourceApp, useResourceApp } from '../../support/resource-app.js';
import { ACME, tokenOf } from '../../support/tenants.js';

const [ada, bob] = [tokenOf(ACME, { sub: 'ada' }), tokenOf(ACME, { sub: 'bob' })];

const list = Prop({ type: [String] });
const reader = { readers: claim('sub') };
const writer = { writers: claim('sub') };
/** Some may read it, and some may change it. */
const outline = {
  kept: { readers: list, writers: list, deletedAt: Prop({ type: Date }) },
  isolationFields: { get: reader, create: { ...reader, ...writer }, update: writer, del: writer },
};
const reports = resource({ name: 'reports', ...outline });
const schema = () => schemaOf(reports.entity);
const start = (change: object) => createResourceApp({ ...reports, ...change });

describe('a resource that isolates reads and writes by two lists', () => {
  const query = { sort: ['text'], search: ['text'] };
  const archive = { field: 'deletedAt' };
  const newest = schema().index({ readers: 1, createdAt: -1, _id: -1 }, { name: 'newest' });
  const cases: [string, string, object][] = [
    ['no query', '', {}],
    ['orders', '?sort=text', { query: { sort: ['text'] } }],
    ['a search', '?q=tea', { query: { search: ['text'] } }],
    ['an archive', '?archived=include', { archive }],
    ['all of them', '?q=tea&sort=text&archived=include', { query, archive }],
    ['the index of its lists', '?limit=5', { schema: newest }],
    ['one index written twice', '?limit=5', { schema: schema().index({ text: 1 }).index({ text: 1 }) }],
  ];
  const app = useResourceApp(
    ...cases.map(([, , change], i) => resource({ name: `reports${i}`, ...outline, ...change })),
  );

  const served = cases.map(([name, query], i) => [name, `/reports${i}`, query]);
  it.each(served)('serves records with %s', async (_name, path, query) => {
    const id = await app.create(path, { text: 'tea' }, ada);
    const read = async (token: string) => {
      const { body } = await app.get(path + query, { token });
      return ('results' in body ? body.results : body) as object[];
    };
    expect(await read(ada)).toMatchObject([{ _id: id, text: 'tea', readers: ['ada'], writers: ['ada'] }]);
    expect(await read(bob)).toEqual([]);
    expect((await app.patch(`${path}/${id}`, { text: 'x' }, { token: bob })).status).toBe(404);
    expect((await app.patch(`${path}/${id}`, { text: 'x' }, { token: ada })).status).toBe(200);
  });
});

it('a unique index of one list keeps values unique among those in that list', async () => {
  await using app = await start({
    schema: schema().index({ readers: 1, text: 1 }, { unique: true }),
    globallyUnique: ['readers', 'text'],
    isolationFields: { all: { ...reader, ...writer } },
  });
  const statuses = [];
  for (const token of [ada, bob, ada])
    statuses.push((await app.post('/reports', { text: 'tea' }, { token })).status);
  expect(statuses).toEqual([201, 201, 409]);
});

it('a unique value beside a list of readers that clients write stops the start', async () => {
  const members = IsListOf(IsText({ max: 9 }), { max: 5, optional: true });
  const fields = { members, slug: IsText({ max: 20 }) };
  const startOf = async (isolationFields: object, keys: Record<string, 1>) => {
    const kept = { author: Prop({ type: String }) };
    const notes = resource({ name: 'notes', fields, kept, isolationFields });
    const schema = schemaOf(notes.entity).index(keys, { unique: true });
    await (await createResourceApp({ ...notes, schema })).close();
  };
  const [author, shared] = [{ author: claim('sub') }, { members: claim('sub') }];
  const told = 'tells those who write "members" of others.';
  await expect(startOf({ all: shared }, { slug: 1 })).rejects.toThrow(`unique {"slug":1} ${told}`);
  const either = { create: author, get: anyOf(author, shared) };
  await expect(startOf(either, { members: 1, slug: 1 })).rejects.toThrow(told);
});
