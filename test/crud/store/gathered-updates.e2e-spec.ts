/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import fc from 'fast-check';
import { Types } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import {
  IsFlag,
  IsOneOf,
  IsText,
  IsTextList,
  IsTimestamp,
  IsWholeNumber,
  schemaOf,
} from '../../../src/common/fields/index.js';
import { currentTenant } from '../../../src/common/tenancy/index.js';
import { NOWHERE } from '../../support/bulk.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, acme, globex } from '../../support/tenants.js';
import type { TestRequest } from '../../support/test-app.js';
import { resource } from '../../support/resource.js';

class TicketInput {
  @IsText({ min: 1, max: 40 }) title!: string;
  @IsText({ max: 40, optional: true }) sku?: string;
  @IsFlag({ default: false }) done?: boolean;
  @IsWholeNumber({ min: 0, optional: true }) count?: number;
  @IsTimestamp({ optional: true }) dueAt?: Date;
  @IsOneOf(['red', 'blue'], { default: 'red' }) colour?: string;
  @IsTextList({ maxEntries: 2, entry: { max: 5 }, optional: true }) tags?: string[];
  @IsText({ max: 9, optional: true }) code?: string;
}

const isolationFields = { all: { tenant: currentTenant } };
const tenant = Prop({ type: String });
const tickets = resource({ name: 'tickets', fields: TicketInput, kept: { tenant }, isolationFields });
tickets.schema = schemaOf(tickets.entity).index({ sku: 1 }, { unique: true, sparse: true });
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
labels.schema = schemaOf(labels.entity).index({ sku: 1 }, { unique: true, sparse: true });

/** Changes that arrive while others are in flight are carried out by the next command. */
describe('concurrent patches', () => {
  const app = useResourceApp(CrudModule.forFeature(tickets), CrudModule.forFeature(labels));
  beforeEach(() => app.empty());

  async function make(path: string, token: string, body: object = { title: 'new' }): Promise<string> {
    const { body: made } = await app.post(path, body, { token });
    return made._id as string;
  }
  const stored = (collection: string, id: string) =>
    app.database.collection(collection).findOne({ _id: new Types.ObjectId(id) });

  it('each have their own outcome', async () => {
    await make('/labels', acme, { title: 'first', sku: 'taken' });
    const kinds: [
      body: object,
      request: (i: number) => TestRequest,
      id: string | undefined,
      status: number,
    ][] = [
      [{ title: 'own' }, () => ({ token: acme }), undefined, 200],
      [{ done: true }, () => ({ token: acme }), undefined, 200],
      [{ title: 'foreign' }, () => ({ token: globex }), undefined, 404],
      [{ title: 'nowhere' }, () => ({ token: acme }), NOWHERE, 404],
      [{ title: 'stale' }, () => ({ token: acme, headers: { 'If-Match': '"7"' } }), undefined, 412],
      [{ title: 'fresh' }, () => ({ token: acme, headers: { 'If-Match': '"0"' } }), undefined, 200],
      [{ sku: 'taken' }, () => ({ token: acme }), undefined, 409],
      [{ count: 8 }, () => ({ token: acme }), undefined, 400],
      [{ title: '' }, () => ({ token: acme }), undefined, 400],
      [
        { title: 'told' },
        () => ({ token: acme, headers: { Prefer: 'return=representation' } }),
        undefined,
        200,
      ],
    ];
    const asked = await Promise.all(
      Array.from({ length: 8 * kinds.length }, async (_, i) => {
        const [body, request, id, status] = kinds[i % kinds.length] as (typeof kinds)[number];
        return { body, request: request(i), id: id ?? (await make('/labels', acme)), status };
      }),
    );
    const answers = await Promise.all(
      asked.map(({ body, request, id }) => app.patch(`/labels/${id}`, body, request)),
    );
    expect(answers.map(({ status }) => status)).toEqual(asked.map(({ status }) => status));
    for (const { body, id, status } of asked) {
      if (id === NOWHERE) continue;
      const changed = status === 200;
      expect(await stored('labels', id)).toMatchObject(
        changed ? { ...body, __v: 1, tenant: ACME } : { title: 'new', __v: 0 },
      );
    }
    expect(await app.database.collection('labels').countDocuments()).toBe(asked.length - 8 + 1);
    const duplicate = answers.find(({ status }) => status === 409);
    expect(duplicate?.body.detail).toBe('A record with the same sku exists. Choose another value.');
  });

  it('of one record all count', async () => {
    const id = await make('/labels', acme);
    const titles = Array.from({ length: 60 }, (_, i) => `title ${i}`);
    const answers = await Promise.all(
      titles.map((title) => app.patch(`/labels/${id}`, { title }, { token: acme })),
    );
    expect(new Set(answers.map(({ text }) => text))).toEqual(new Set(['{"updated":true}']));
    const { body, headers } = await app.get(`/labels/${id}`, { token: acme });
    expect(headers.get('etag')).toBe('"60"');
    expect(titles).toContain(body.title);
    const search = await app.get(`/labels?limit=5&q=${(body.title as string).replace(' ', '%20')}`, {
      token: acme,
    });
    expect(search.body.count).toBe(1);
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
          const [one, other] = [await make(`/${name}`, acme), await make(`/${name}`, acme)];
          for (const body of patches) {
            const whole = { Prefer: 'return=representation' };
            // Only one of them may have the sku.
            const mine = { ...body, ...(typeof body.sku === 'string' && { sku: `${body.sku}1` }) };
            const theirs = { ...body, ...(typeof body.sku === 'string' && { sku: `${body.sku}2` }) };
            const plain = await app.patch(`/${name}/${one}`, mine, { token: acme });
            const told = await app.patch(`/${name}/${other}`, theirs, { token: acme, headers: whole });
            expect([plain.status, plain.body.errors]).toEqual([told.status, told.body.errors]);
          }
          const comparable = async (id: string) => {
            const record = await stored(name, id);
            const {
              _id,
              createdAt: _created,
              updatedAt: _updated,
              sku,
              ...rest
            } = { ...record } as Record<string, unknown>;
            return { ...rest, sku: (sku as string | undefined)?.slice(0, 1) };
          };
          expect(await comparable(one)).toEqual(await comparable(other));
          await app.empty();
        }),
        { numRuns: 60 },
      );
    }
  });
});
