import type { Violation } from '../../../src/common/errors/index.js';
import { expectInvalid, expectInvalidId, expectNotFound } from '../problems.js';
import { linksOf } from '../walks.js';
import { type CrudClient, idsOf, NOBODY } from './records.js';

const JSON_TYPE = 'application/json; charset=utf-8';

export function describeReads({ app, path, full, label, counts, parameters, get, ...of }: CrudClient): void {
  describe(`GET ${path}`, () => {
    it('is an array of whole records, empty if there are none', async () => {
      const { status, body, headers } = await get();
      expect([status, body]).toEqual([200, []]);
      expect(headers.get('content-type')).toBe(JSON_TYPE);
      expect(headers.get('link')).toBeNull();
      const id = await of.create();
      expect((await get()).body).toEqual([of.recordOf(full, id)]);
    });

    it('gives every record, newest first, however late they were changed', async () => {
      const ids = await of.createMany(25);
      await of.patch(ids[24] ?? '', { title: 'Changed last' });
      expect(idsOf((await get()).body)).toEqual(ids);
    });

    it('orders records of the same millisecond by id, descending, in the array as in pages', async () => {
      const ids = await of.createMany(6);
      const collections = await app().database.collections();
      const sameMoment = { $set: { createdAt: new Date('2026-01-31T09:00:00.000Z') } };
      await Promise.all(collections.map((collection) => collection.updateMany({}, sameMoment)));
      const expected = ids.sort().reverse();
      expect(idsOf((await get()).body)).toEqual(expected);
      expect(idsOf((await get('?limit=4')).body.results)).toEqual(expected.slice(0, 4));
      expect(idsOf((await get('?offset=4')).body.results)).toEqual(expected.slice(4));
    });
  });

  if (counts)
    it(`GET ${path}/count counts the records`, async () => {
      expect((await get('/count')).body).toEqual({ count: 0 });
      await of.createMany(3);
      const { status, body } = await get('/count');
      expect([status, body]).toEqual([200, { count: 3 }]);
    });

  it.each<[string, string, string[]]>([
    ['', 'page', parameters.list],
    [`/${NOBODY}`, 'title', parameters.get],
    ...(counts ? ([['/count', 'limit', parameters.count]] as [string, string, string[]][]) : []),
  ])(`GET ${path}%s refuses unknown parameters, and lists known ones`, async (below, parameter, known) => {
    const detail = `"${parameter}" is not a parameter here. Allowed: ${known.join(', ')}.`;
    expectInvalid(await get(`${below}?${parameter}=2`), path + below, { parameter, detail });
  });

  describe(`GET ${path}/:id`, () => {
    it('returns the whole record and its revision, by its id in either case', async () => {
      const id = await of.create();
      for (const spelling of [id, id.toUpperCase()]) {
        const { status, body, headers } = await get(`/${spelling}`);
        expect([status, body]).toEqual([200, of.recordOf(full, id)]);
        expect(headers.get('content-type')).toBe(JSON_TYPE);
        expect(headers.get('etag')).toMatch(/^"[^"]+"$/);
      }
    });

    it('answers HEAD like GET, without the body, as lists, pages and counts do', async () => {
      const [id] = [await of.create(), await of.create()];
      for (const below of ['', '?limit=1', `/${id}`, ...(counts ? ['/count'] : [])]) {
        const got = await get(below);
        const { status, text, headers } = await app().request('HEAD', path + below);
        expect([below, status, text]).toEqual([below, 200, '']);
        const names = ['content-type', 'link', ...(below.startsWith('/') ? ['etag', 'content-length'] : [])];
        for (const name of names) expect([name, headers.get(name)]).toEqual([name, got.headers.get(name)]);
      }
    });

    it(`answers 404 "${label} not found" if there is none`, async () => {
      expectNotFound(await get(`/${NOBODY}`), of.at(NOBODY), label);
      expect((await app().request('HEAD', of.at(NOBODY))).status).toBe(404);
    });

    it.each(['1', NOBODY.slice(1), `${NOBODY}0`, `g${NOBODY.slice(1)}`, 'todoitem0001', '%20'.repeat(24)])(
      'refuses the id %s',
      async (id) => expectInvalidId(await get(`/${id}`), of.at(id)),
    );

    it('shows the requested fields, and the identifier', async () => {
      const id = await of.create();
      const whole = await get(`/${id}`);
      const { _id, title, createdAt } = whole.body as Record<string, unknown>;
      const { body, headers } = await get(`/${id}?fields=createdAt,title,title`);
      expect(body).toEqual({ _id, title, createdAt });
      expect(headers.get('etag')).toBe(whole.headers.get('etag'));
      expect((await get(`/${id}?fields=_id`)).body).toEqual({ _id });
      const every = Object.keys(whole.body as object).join('%2C');
      expect((await get(`/${id}?fields=${every}`)).text).toBe(whole.text);
      const twice = { parameter: 'fields', detail: '"fields" must be given once.' };
      expectInvalid(await get(`/${id}?fields=title&fields=title`), of.at(id), twice);
    });

    const ODD_FIELDS = '__v title, ,title -title title.length Title $where toString'.split(' ');

    it('refuses other fields, and lists its own', async () => {
      const { id, record } = await of.created();
      for (const fields of ['', ' title', ...ODD_FIELDS]) {
        const stray = fields.split(',').find((name) => name !== 'title');
        const { status, body } = await get(`/${id}?fields=${encodeURIComponent(fields)}`);
        const [{ parameter, detail }] = body.errors as [{ parameter: string; detail: string }];
        const [sentence, allowed] = detail.split(' Allowed: ');
        const unknown = `"${stray}" is not a field of the records here.`;
        expect([status, parameter, sentence]).toEqual([400, 'fields', unknown]);
        const shown = Object.keys(record);
        expect(allowed?.replace('.', '').split(', ')).toEqual(expect.arrayContaining(shown));
      }
    });
  });
}

export function describePages({ path, hasCursors, full, ...of }: CrudClient): void {
  const page = (query: string) => of.get(`?${query}`);
  const whole = (results: object[], count: number, prev: unknown, next: unknown) =>
    hasCursors ? { results, count, next, prev } : { results, count };

  describe(`GET ${path} with offset or limit`, () => {
    it.each(['offset=0&limit=1', 'limit=1'])('holds whole records and the total count: %s', async (query) => {
      await of.create({ title: 'Older' });
      const id = await of.create();
      const { status, body } = await page(query);
      const expected = whole([of.recordOf(full, id)], 2, null, expect.any(String));
      expect([status, body]).toEqual([200, expected]);
    });

    it('holds up to 100 records, and at most 20 if only offset is given', async () => {
      const ids = await of.createMany(102);
      for (const [query, first, end] of [
        ['limit=100', 0, 100],
        ['offset=0', 0, 20],
        ['offset=20', 20, 40],
        ['offset=20&limit=20', 20, 40],
        ['offset=100', 100, 102],
      ] as const) {
        const { body } = await page(query);
        expect([query, idsOf(body.results), body.count]).toEqual([query, ids.slice(first, end), 102]);
      }
    });

    const offsetFault = { parameter: 'offset', detail: '"offset" must be a whole number, at least 0.' };
    const limitFault = { parameter: 'limit', detail: '"limit" must be a whole number from 1 to 100.' };
    const LIMITS = '101 0 -1 1.5 1e1 0x10 ten %205 +5 ５ null NaN Infinity'.split(' ');
    const OFFSETS = '-1 -0 1.5 1e1 x 9007199254740992'.split(' ');
    const LONG = ['', '9'.repeat(400)];

    type Row = [query: string, ...faults: Violation[]];
    it.each<Row>([
      ...[...LIMITS, ...LONG].map((limit): Row => [`limit=${limit}`, limitFault]),
      ...[...OFFSETS, ...LONG].map((offset): Row => [`offset=${offset}`, offsetFault]),
      ['limit=101&offset=-1', offsetFault, limitFault],
    ])('refuses %s, and names each fault', async (query, ...faults) => {
      expectInvalid(await page(query), path, ...faults);
    });

    it.each(['limit=1&limit=2', 'offset=1&limit=2&offset=1'])('refuses a repetition: %s', async (query) => {
      const parameter = query.slice(0, query.indexOf('='));
      expectInvalid(await page(query), path, { parameter, detail: `"${parameter}" must be given once.` });
    });

    it('accepts the greatest offset that a number can hold', async () => {
      await of.create();
      expect((await page('offset=9007199254740991')).body).toEqual(whole([], 1, expect.any(String), null));
    });

    describe('links', () => {
      it.each<[where: string, records: number, query: string, links: Record<string, number>]>([
        ['at the start', 5, 'limit=2', { first: 0, next: 2, last: 4 }],
        ['in the middle', 5, 'offset=2&limit=2', { first: 0, prev: 0, next: 4, last: 4 }],
        ['at the end', 5, 'offset=4&limit=2', { first: 0, prev: 2, last: 4 }],
        ['if the last page is full', 4, 'offset=2&limit=2', { first: 0, prev: 0, last: 2 }],
        ['beyond the end', 3, 'offset=50&limit=2', { first: 0, prev: 2, last: 2 }],
        ['of an empty collection', 0, 'limit=2', { first: 0, last: 0 }],
      ])('%s, of %d records with %s: %j', async (_where, records, query, links) => {
        if (records > 0) await of.createMany(records);
        const at = (offset: number) => `${path}?offset=${offset}&limit=2`;
        const expected = Object.entries(links).map(([rel, offset]) => [rel, at(offset)]);
        expect(linksOf((await page(query)).headers)).toEqual(Object.fromEntries(expected));
        if (records === 0) expect((await page(query)).body).toEqual(whole([], 0, null, null));
      });

      it('lead through every record once', async () => {
        const ids = await of.createMany(7);
        const met: string[] = [];
        for (let next: string | undefined = 'limit=3'; next !== undefined;) {
          const { headers, body } = await page(next);
          met.push(...idsOf(body.results));
          next = linksOf(headers).next?.split('?')[1];
        }
        expect(met).toEqual(ids);
      });
    });
  });
}
