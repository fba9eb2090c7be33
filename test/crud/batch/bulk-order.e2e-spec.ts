/** @mongodb */
import { Types } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { schemaOf } from '../../../src/common/fields/index.js';
import { bulk, create, ids, NoteInput, NOWHERE, results, titled } from '../../support/bulk.js';
import { Random } from '../../support/random.js';
import { useResourceApp } from '../../support/resource-app.js';
import { useTestApp } from '../../support/test-app.js';
import { resource } from '../../support/resource.js';

describe('random operations on todos', () => {
  const app = useTestApp();

  it('the same operations have the results of single requests', async () => {
    const seed = Number(process.env.SEED ?? 20_261_121);
    const random = new Random(seed);
    const pick = <T>(list: readonly T[]): T => random.pick(list);
    for (let round = 0; round < 6; round++) {
      await app.empty();
      const both = await Promise.all([
        bulk(app, '/todos', Array(4).fill(titled('x'))),
        bulk(app, '/todos', Array(4).fill(titled('x'))),
      ]);
      const [mine, theirs] = both.map(ids) as [string[], string[]];
      const known = [mine, theirs];
      const operations = Array.from({ length: 40 }, () => {
        const at = random.below(5);
        const ifMatch = pick([undefined, undefined, '"0"', '"1"', '*', 'bad']);
        const values = pick([
          { title: pick(['a', 'b']) },
          { completed: random.chance(0.5) },
          { title: 7 },
          {},
          { description: null },
        ]);
        return { kind: pick(['create', 'update', 'del'] as const), at, ifMatch, values };
      });
      const answered = await bulk(
        app,
        '/todos',
        operations.map(({ kind, at, ifMatch, values }) => {
          const _id = known[0]?.[at] ?? NOWHERE;
          if (kind === 'create') return { create: values };
          return kind === 'update'
            ? { update: { _id, changes: values, ifMatch } }
            : { del: { _id, ifMatch } };
        }),
      );
      const singles: unknown[] = [];
      for (const { kind, at, ifMatch, values } of operations) {
        const path = kind === 'create' ? '/todos' : `/todos/${known[1]?.[at] ?? NOWHERE}`;
        const method = { create: 'POST', update: 'PATCH', del: 'DELETE' }[kind];
        const headers = ifMatch === undefined || kind === 'create' ? undefined : { 'If-Match': ifMatch };
        const { status, body } = await app.request(method, path, {
          body: kind === 'del' ? undefined : values,
          headers,
        });
        singles.push(status < 400 ? status : `${status} ${body.code}`);
      }
      expect([seed, round, results(answered)]).toEqual([seed, round, singles]);
      const state = async (own: string[]) => {
        const records = await app.database
          .collection('todos')
          .find({ _id: { $in: own.map((id) => new Types.ObjectId(id)) } })
          .sort({ _id: 1 })
          .toArray();
        return records.map(({ _id, createdAt: _c, updatedAt: _u, ...rest }) => ({
          ...rest,
          at: own.indexOf(String(_id)),
        }));
      };
      expect([seed, round, await state(mine)]).toEqual([seed, round, await state(theirs)]);
    }
  });
});

describe('the order of operations', () => {
  const tags = resource({ name: 'tags', fields: NoteInput, bulk: true });
  const schema = schemaOf(tags.entity).index({ sku: 1 }, { unique: true, sparse: true });

  const app = useResourceApp(CrudModule.forFeature({ ...tags, schema }));
  beforeEach(() => app.empty());

  it('the first of several creates with one unique value wins', async () => {
    const values = Array.from({ length: 300 }, (_, i) => `sku ${i % 100}`);
    const answered = await bulk(
      app,
      '/tags',
      values.map((sku, i) => create(`note ${i}`, sku)),
    );
    expect(results(answered)).toEqual([
      ...Array<number>(100).fill(201),
      ...Array<string>(200).fill('409 DUPLICATE_VALUE'),
    ]);
    expect(answered.body.results[299].detail).toBe(
      'A record with the same sku exists. Choose another value.',
    );
    const stored = await app.database.collection('tags').find().sort({ _id: 1 }).toArray();
    expect(stored.map(({ text }) => text as string)).toEqual(values.slice(0, 100).map((_, i) => `note ${i}`));
  });

  it('a value that one operation releases can be taken by the next', async () => {
    const [a, b] = ids(await bulk(app, '/tags', [create('a', 'one'), create('b', 'two')]));
    const answered = await bulk(app, '/tags', [
      { update: { _id: b, changes: { sku: 'one' } } },
      { update: { _id: a, changes: { sku: 'three' } } },
      { update: { _id: b, changes: { sku: 'one' } } },
      create('c', 'two'),
      { del: { _id: a } },
      create('d', 'three'),
    ]);
    expect(results(answered)).toEqual(['409 DUPLICATE_VALUE', 200, 200, 201, 200, 201]);
  });
});
