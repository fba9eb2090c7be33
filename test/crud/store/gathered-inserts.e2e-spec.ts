/** @mongodb */
import { CrudModule } from '../../../src/common/crud/index.js';
import { schemaOf } from '../../../src/common/fields/index.js';
import { NoteInput } from '../../support/bulk.js';
import { each, storedIn } from '../../support/records.js';
import { useResourceApp } from '../../support/resource-app.js';
import { resource } from '../../support/resource.js';

const labels = resource({ name: 'labels', fields: NoteInput });
labels.schema = schemaOf(labels.entity).index({ sku: 1 }, { unique: true, sparse: true });
labels.schema.path('text').validate((text: string) => text !== 'refused', 'This text is refused.');

const stamps = resource({ name: 'stamps', fields: NoteInput });
stamps.schema = schemaOf(stamps.entity).pre('save', function () {
  this.set('sku', `saved ${String(this.get('text'))}`);
});

/** Creates that arrive while others are being stored go with the next command. */
describe('concurrent creates', () => {
  const app = useResourceApp(CrudModule.forFeature(labels), CrudModule.forFeature(stamps));
  beforeEach(() => app.empty());

  it('each have their own outcome', async () => {
    const bodies = Array.from({ length: 60 }, (_, i) => {
      if (i % 10 === 0) return { text: 'refused' };
      return { text: `label ${i}`, ...(i % 10 === 1 && { sku: 'taken' }) };
    });
    const answered = await Promise.all(bodies.map((body) => app.post('/labels', body)));
    const expected = [Array(49).fill(201), Array(6).fill(400), Array(5).fill(409)].flat();
    expect(each(answered, 'status').sort()).toEqual(expected);
    const bodiesOf = (status: number) =>
      each(
        answered.filter((one) => one.status === status),
        'body',
      );
    expect(bodiesOf(400)[0]).toMatchObject({
      errors: [{ pointer: '/text', detail: 'This text is refused.' }],
    });
    expect(bodiesOf(409)[0]).toMatchObject({
      detail: 'A record with the same sku exists. Choose another value.',
    });
    const stored = await storedIn(app, 'labels');
    expect(each(stored, '_id').map(String)).toEqual(each(bodiesOf(201), '_id').sort());
    for (const record of stored) {
      expect(record).toMatchObject({ __v: 0, createdAt: expect.any(Date), updatedAt: record.createdAt });
    }
  });

  it('answer with the records that are stored', async () => {
    const headers = { Prefer: 'return=representation' };
    const answered = await Promise.all(
      Array.from({ length: 20 }, (_, i) => app.post('/labels', { text: `label ${i}` }, { headers })),
    );
    const stored = await Promise.all(answered.map(({ body }) => app.get(`/labels/${body._id}`)));
    expect(each(answered, 'body')).toEqual(each(stored, 'body'));
  });

  it('run the save middleware of a schema', async () => {
    const texts = ['a', 'b', 'c'];
    await Promise.all(texts.map((text) => app.post('/stamps', { text })));
    const skus = each(await storedIn(app, 'stamps'), 'sku').sort();
    expect(skus).toEqual(texts.map((text) => `saved ${text}`));
  });
});
