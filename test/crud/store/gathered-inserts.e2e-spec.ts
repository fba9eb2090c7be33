/** @mongodb */
import { CrudModule } from '../../../src/common/crud/index.js';
import { schemaOf } from '../../../src/common/fields/index.js';
import { bulk, create, NoteInput, results } from '../../support/bulk.js';
import { useResourceApp } from '../../support/resource-app.js';
import type { TestResponse } from '../../support/test-app.js';
import { resource } from '../../support/resource.js';

const labels = resource({ name: 'labels', fields: NoteInput });
labels.schema = schemaOf(labels.entity).index({ sku: 1 }, { unique: true, sparse: true });
labels.schema.path('text').validate((text: string) => text !== 'refused', 'This text is refused.');

const stamps = resource({ name: 'stamps', fields: NoteInput });
stamps.schema = schemaOf(stamps.entity).pre('save', function () {
  this.set('sku', `saved ${String(this.get('text'))}`);
});

/** Without code of its own, so that the creates of a bulk run at a time. */
const marks = resource({ name: 'marks', fields: NoteInput, bulk: true });
marks.schema = schemaOf(marks.entity).index({ sku: 1 }, { unique: true });

/** Creates that arrive while others are being stored go with the next command. */
describe('concurrent creates', () => {
  const app = useResourceApp(
    CrudModule.forFeature(labels),
    CrudModule.forFeature(marks),
    CrudModule.forFeature(stamps),
  );
  beforeEach(() => app.empty());

  const statuses = (responses: TestResponse[]) => responses.map(({ status }) => status).sort();

  it('each have their own outcome', async () => {
    const bodies = Array.from({ length: 60 }, (_, i) => {
      if (i % 10 === 0) return { text: 'refused' };
      return { text: `label ${i}`, ...(i % 10 === 1 && { sku: 'taken' }) };
    });
    const answered = await Promise.all(bodies.map((body) => app.post('/labels', body)));
    const expected = [
      ...Array<number>(49).fill(201),
      ...Array<number>(6).fill(400),
      ...Array<number>(5).fill(409),
    ];
    expect(statuses(answered)).toEqual(expected);
    const refused = answered.find(({ status }) => status === 400);
    expect(refused?.body.errors).toEqual([{ pointer: '/text', detail: 'This text is refused.' }]);
    const twice = answered.find(({ status }) => status === 409);
    expect(twice?.body.detail).toBe('A record with the same sku exists. Choose another value.');
    const stored = await app.database.collection('labels').find().toArray();
    const made = answered.filter(({ status }) => status === 201).map(({ body }) => body._id as string);
    expect(stored.map(({ _id }) => String(_id)).sort()).toEqual(made.sort());
    for (const record of stored) {
      expect(record).toMatchObject({ __v: 0, createdAt: expect.any(Date), updatedAt: record.createdAt });
    }
  });

  it('of one bulk, which go together, each have their own outcome', async () => {
    const isTwin = (i: number) => i % 10 === 5;
    const operations = Array.from({ length: 60 }, (_, i) =>
      create(`label ${i}`, isTwin(i) ? 'taken' : `${i}`),
    );
    const expected = operations.map((_, i) => (isTwin(i) && i !== 5 ? '409 DUPLICATE_VALUE' : 201));
    expect(results(await bulk(app, '/marks', operations))).toEqual(expected);
    const stored = await app.database.collection('marks').find().sort({ _id: 1 }).toArray();
    const kept = operations.filter((_, i) => expected[i] === 201);
    expect(stored.map(({ text }) => text as string)).toEqual(kept.map((one) => one.create.text));
  });

  it('answer with the records that are stored', async () => {
    const headers = { Prefer: 'return=representation' };
    const answered = await Promise.all(
      Array.from({ length: 20 }, (_, i) => app.post('/labels', { text: `label ${i}` }, { headers })),
    );
    const stored = await Promise.all(answered.map(({ body }) => app.get(`/labels/${body._id}`)));
    expect(answered.map(({ body }) => body)).toEqual(stored.map(({ body }) => body));
  });

  it('run the save middleware of a schema', async () => {
    const texts = ['a', 'b', 'c'];
    await Promise.all(texts.map((text) => app.post('/stamps', { text })));
    const stored = await app.database.collection('stamps').find().toArray();
    expect(stored.map(({ sku }) => sku as string).sort()).toEqual(texts.map((text) => `saved ${text}`));
  });
});
