/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import fc from 'fast-check';
import { Types } from 'mongoose';
import * as f from '../../../src/common/fields/index.js';
import { NoteInput, NOWHERE } from '../../support/bulk.js';
import { each, storedIn } from '../../support/records.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, acme, globex } from '../../support/tenants.js';
import type { TestRequest } from '../../support/test-app.js';
import { type Made, OF_TENANT, resource } from '../../support/resource.js';

const SPARSE = { type: String, unique: true, sparse: true };

class TicketInput {
  @f.IsText({ min: 1, max: 40 }) title!: string;
  @Prop(SPARSE) @f.IsText({ max: 40, optional: true }) sku?: string;
  @f.IsFlag({ default: false }) done?: boolean;
  @f.IsWholeNumber({ min: 0, optional: true }) count?: number;
  @f.IsTimestamp({ optional: true }) dueAt?: Date;
  @f.IsOneOf(['red', 'blue'], { default: 'red' }) colour?: string;
  @f.IsListOf(f.IsText({ max: 5 }), { max: 2, optional: true }) tags?: string[];
  @f.IsText({ max: 9, optional: true }) code?: string;
}

const { isolationFields } = OF_TENANT;
const tenant = Prop({ type: String });
const tickets = resource({ name: 'tickets', fields: TicketInput, kept: { tenant }, isolationFields });
tickets.schema = f.schemaOf(tickets.entity);
// The schema asks for more than the body does.
tickets.schema.path('count').validate({ validator: () => true, message: 'No.' });

const labels = resource({
  name: 'labels',
  fields: TicketInput,
  kept: {
    tenant,
    count: Prop({ type: Number, max: 7 }),
    code: Prop({ type: String, lowercase: true, match: /^[a-z]*$/ }),
    tags: Prop({ type: [String], default: undefined, enum: ['a', 'b'] }),
  },
  isolationFields,
  query: { search: ['title'] },
});

const notes = resource({ name: 'notes', fields: NoteInput, kept: { sku: Prop(SPARSE) } });
notes.schema = f.schemaOf(notes.entity);
notes.schema.path('text').validate((text: string) => text !== 'refused', 'This text is refused.');

const stamps = resource({ name: 'stamps', fields: NoteInput });
stamps.schema = f.schemaOf(stamps.entity).pre('save', function () {
  this.set('sku', `saved ${String(this.get('text'))}`);
});

const app = useResourceApp(tickets, labels, notes, stamps);
beforeEach(() => app.empty());

/** Creates that arrive while others are being stored go with the next command. */
describe('concurrent creates', () => {
  it('each have their own outcome', async () => {
    const bodies = Array.from({ length: 60 }, (_, i) => {
      if (i % 10 === 0) return { text: 'refused' };
      return { text: `note ${i}`, ...(i % 10 === 1 && { sku: 'taken' }) };
    });
    const answered = await Promise.all(bodies.map((body) => app.post('/notes', body)));
    const expected = [Array(49).fill(201), Array(6).fill(400), Array(5).fill(409)].flat();
    expect(each(answered, 'status').sort()).toEqual(expected);
    const ofStatus = (status: number) => answered.filter((one) => one.status === status);
    const [refused, twin] = [ofStatus(400)[0]?.body, ofStatus(409)[0]?.body];
    expect(refused.errors).toEqual([{ pointer: '/text', detail: 'This text is refused.' }]);
    expect(twin.detail).toBe('A record with the same sku exists. Choose another value.');
    const stored = await storedIn(app, 'notes');
    const made = ofStatus(201).map(({ body }) => body._id as string);
    expect(each(stored, '_id').map(String)).toEqual(made.sort());
    for (const record of stored)
      expect(record).toMatchObject({ __v: 0, createdAt: expect.any(Date), updatedAt: record.createdAt });
  });

  it('answer with the records that are stored', async () => {
    const headers = { Prefer: 'return=representation' };
    const texts = Array.from({ length: 20 }, (_, i) => `note ${i}`);
    const answered = await Promise.all(texts.map((text) => app.post('/notes', { text }, { headers })));
    const stored = await Promise.all(answered.map(({ body }) => app.get(`/notes/${body._id}`)));
    expect(each(answered, 'body')).toEqual(each(stored, 'body'));
  });

  it('run the save middleware of a schema', async () => {
    const texts = ['a', 'b', 'c'];
    await Promise.all(texts.map((text) => app.post('/stamps', { text })));
    const skus = each(await storedIn(app, 'stamps'), 'sku').sort();
    expect(skus).toEqual(texts.map((text) => `saved ${text}`));
  });
});

/** Changes that arrive while others are in flight are carried out by the next command. */
describe('concurrent patches', () => {
  const make = (path: string, body: object = { title: 'new' }) => app.create(path, body, acme);
  const stored = (collection: string, id: string) =>
    app.database.collection(collection).findOne({ _id: new Types.ObjectId(id) });

  it('each have their own outcome', async () => {
    await make('/labels', { title: 'first', sku: 'taken' });
    const kinds: [body: object, status: number, request?: TestRequest, id?: string][] = [
      [{ title: 'own' }, 200],
      [{ done: true }, 200],
      [{ title: 'foreign' }, 404, { token: globex }],
      [{ title: 'nowhere' }, 404, {}, NOWHERE],
      [{ title: 'stale' }, 412, { headers: { 'If-Match': '"7"' } }],
      [{ title: 'fresh' }, 200, { headers: { 'If-Match': '"0"' } }],
      [{ sku: 'taken' }, 409],
      [{ count: 8 }, 400],
      [{ title: '' }, 400],
      [{ title: 'told' }, 200, { headers: { Prefer: 'return=representation' } }],
    ];
    const all = Array.from({ length: 4 }, () => kinds).flat();
    const ids = await Promise.all(all.map(([, , , id]) => id ?? make('/labels')));
    const patch = ([body, , request]: (typeof kinds)[number], i: number) =>
      app.patch(`/labels/${ids[i]}`, body, { token: acme, ...request });
    const answers = await Promise.all(all.map(patch));
    expect(each(answers, 'status')).toEqual(all.map(([, status]) => status));
    for (const [i, [body, status]] of all.entries()) {
      const id = ids[i] ?? '';
      if (id === NOWHERE) continue;
      const { __v, ...record } = { ...(await stored('labels', id)) };
      const tag = status === 200 ? answers[i]?.headers.get('etag') : '"0"';
      expect(`"${String(__v)}"`).toBe(tag);
      expect(record).toMatchObject(status === 200 ? { ...body, tenant: ACME } : { title: 'new' });
    }
    expect(await storedIn(app, 'labels')).toHaveLength(all.length - 4 + 1);
    const duplicate = answers.find(({ status }) => status === 409);
    expect(duplicate?.body.detail).toBe('A record with the same sku exists. Choose another value.');
  });

  it('of one record all count', async () => {
    const id = await make('/labels');
    const titles = Array.from({ length: 60 }, (_, i) => `title ${i}`);
    const sent = titles.map((title) => app.patch(`/labels/${id}`, { title }, { token: acme }));
    const answers = await Promise.all(sent);
    expect(new Set(each(answers, 'text'))).toEqual(new Set(['{"updated":true}']));
    // Each has made a revision of its own.
    const tags = answers.map((answer) => answer.headers.get('etag'));
    expect(new Set(tags).size).toBe(titles.length);
    const { body, headers } = await app.get(`/labels/${id}`, { token: acme });
    // That of the last one to be carried out is the record's.
    expect(titles[tags.indexOf(headers.get('etag'))]).toBe(body.title);
    expect((await app.get(`/labels?limit=5&q=${body.title}`, { token: acme })).body.count).toBe(1);
  });

  it('have a revision also where other means have stored a record without one', async () => {
    const _ids = Array.from({ length: 8 }, () => new Types.ObjectId());
    const labels = _ids.map((_id) => ({ _id, title: 'old', tenant: ACME }));
    await app.database.collection('labels').insertMany(labels);
    const patchAll = (body: object) =>
      Promise.all(_ids.map((_id) => app.patch(`/labels/${_id.toHexString()}`, body, { token: acme })));
    const seen = new Set<string | null>();
    for (const body of [{}, { title: 'new' }, { done: true }]) {
      const answers = await patchAll(body);
      const tags = (await storedIn(app, 'labels')).map(({ __v = 0 }) => `"${String(__v)}"`);
      expect(answers.map(({ status, headers }) => [status, headers.get('etag')])).toEqual(
        tags.map((tag) => [200, tag]),
      );
      for (const tag of tags) seen.add(tag);
    }
    expect(seen.size).toBe(1 + 2 * _ids.length);
  });

  it('change what a patch that is answered with its record changes', async () => {
    const field = {
      title: fc.constantFrom('a', 'Tea cup', '', null, 5, ' b '),
      sku: fc.constantFrom(null, 'x', 'y'),
      done: fc.constantFrom(true, false, null, 'true'),
      count: fc.constantFrom(0, 7, 8, -1, 1.5, null),
      dueAt: fc.constantFrom('2030-01-01T00:00:00Z', '2030-02-30', null),
      colour: fc.constantFrom('red', 'blue', 'green', null),
      tags: fc.constantFrom([], ['a'], ['b', 'a'], ['c'], ['longer'], null),
      code: fc.constantFrom('Ab', '1', null),
      stray: fc.constantFrom(1),
    };
    const bodies = fc.array(fc.record(field, { requiredKeys: [] }), { minLength: 1, maxLength: 3 });
    for (const name of ['tickets', 'labels']) {
      await fc.assert(
        fc.asyncProperty(bodies, async (patches) => {
          const [one, other] = [await make(`/${name}`), await make(`/${name}`)];
          for (const body of patches) {
            // Only one of them may have the sku.
            const own = (end: number) => (body.sku ? { ...body, sku: `${body.sku}${end}` } : body);
            const whole = { token: acme, headers: { Prefer: 'return=representation' } };
            const plain = await app.patch(`/${name}/${one}`, own(1), { token: acme });
            const told = await app.patch(`/${name}/${other}`, own(2), whole);
            expect([plain.status, plain.body.errors]).toEqual([told.status, told.body.errors]);
          }
          const comparable = async (id: string) => {
            const { _id, createdAt: _c, updatedAt: _u, sku, ...rest }: Made = { ...(await stored(name, id)) };
            return { ...rest, sku: (sku as string | undefined)?.slice(0, 1) };
          };
          expect(await comparable(one)).toEqual(await comparable(other));
          await app.empty();
        }),
        { numRuns: 25 },
      );
    }
  });
});
