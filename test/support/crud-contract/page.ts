import { expectInvalid } from '../problems.js';
import { type CrudClient, idsOf } from './records.js';

export function describePages({ app, path, hasCursors, full, ...of }: CrudClient): void {
  const page = (query: string) => of.get(`?${query}`);
  const whole = (results: object[], count: number, prev: unknown, next: unknown) =>
    hasCursors ? { results, count, next, prev } : { results, count };

  describe(`GET ${path} with offset or limit`, () => {
    it('returns whole records and the total count', async () => {
      await of.create({ title: 'Older' });
      const id = await of.create();
      const { status, body } = await page('offset=0&limit=1');
      const expected = whole([of.recordOf(full, id)], 2, null, expect.any(String));
      expect([status, body]).toEqual([200, expected]);
    });

    it('starts at the first record if only limit is given', async () => {
      const ids = await of.createMany(3);
      const { body } = await page('limit=2');
      expect({ ids: idsOf(body.results), count: body.count }).toEqual({ ids: ids.slice(0, 2), count: 3 });
    });

    it('holds at most 20 records if only offset is given; offset 20 is the second page', async () => {
      const ids = await of.createMany(23);
      expect(idsOf((await page('offset=0')).body.results)).toEqual(ids.slice(0, 20));
      expect(idsOf((await page('offset=20')).body.results)).toEqual(ids.slice(20));
      expect(idsOf((await page('offset=20&limit=20')).body.results)).toEqual(ids.slice(20));
    });

    it('holds up to 100 records', async () => {
      const ids = await of.createMany(102);
      const { body } = await page('limit=100');
      expect({ ids: idsOf(body.results), count: body.count }).toEqual({ ids: ids.slice(0, 100), count: 102 });
    });

    const LIMITS = '101 0 -1 1.5 1e1 0x10 ten %205 +5 ５ null NaN Infinity'.split(' ');
    const limitFault = { parameter: 'limit', detail: '"limit" must be a whole number from 1 to 100.' };
    const offsetFault = { parameter: 'offset', detail: '"offset" must be a whole number, at least 0.' };

    it.each([...LIMITS, '', '9'.repeat(400)])('refuses limit=%s', async (limit) => {
      expectInvalid(await page(`limit=${limit}`), path, limitFault);
    });

    it.each(['-1', '-0', '1.5', '1e1', '', 'x', '9007199254740992', '9'.repeat(400)])(
      'refuses offset=%s',
      async (offset) => expectInvalid(await page(`offset=${offset}`), path, offsetFault),
    );

    it('names both parameters if both are out of bounds', async () => {
      expectInvalid(await page('limit=101&offset=-1'), path, offsetFault, limitFault);
    });

    it.each(['limit=1&limit=2', 'offset=1&limit=2&offset=1'])(
      'refuses a repeated parameter: %s',
      async (query) => {
        const parameter = query.slice(0, query.indexOf('='));
        expectInvalid(await page(query), path, { parameter, detail: `"${parameter}" must be given once.` });
      },
    );

    it('accepts the greatest offset that a number can hold', async () => {
      await of.createMany(1);
      expect((await page('offset=9007199254740991')).body).toEqual(whole([], 1, expect.any(String), null));
    });

    describe('links', () => {
      async function linksOf(query: string): Promise<Record<string, string>> {
        const links = (await page(query)).headers.get('link') ?? '';
        const entries = links.split(', ').map((link) => {
          const [, target = '', rel = ''] = /^<([^>]+)>; rel="(\w+)"$/.exec(link) ?? [];
          const { pathname, search } = new URL(target, app().url + path);
          return [rel, pathname + search];
        });
        return Object.fromEntries(entries) as Record<string, string>;
      }

      it.each<[where: string, records: number, query: string, links: Record<string, number>]>([
        ['at the start', 5, 'limit=2', { first: 0, next: 2, last: 4 }],
        ['in the middle', 5, 'offset=2&limit=2', { first: 0, prev: 0, next: 4, last: 4 }],
        ['at the end', 5, 'offset=4&limit=2', { first: 0, prev: 2, last: 4 }],
        ['if the last page is full', 4, 'offset=2&limit=2', { first: 0, prev: 0, last: 2 }],
        ['beyond the end', 3, 'offset=50&limit=2', { first: 0, prev: 2, last: 2 }],
        ['of an empty collection', 0, 'limit=2', { first: 0, last: 0 }],
      ])('%s, of %d records with %s: %j', async (_where, records, query, links) => {
        await of.createMany(records);
        const expected = Object.entries(links).map(([rel, offset]) => [
          rel,
          `${path}?offset=${offset}&limit=2`,
        ]);
        expect(await linksOf(query)).toEqual(Object.fromEntries(expected));
        if (records === 0) expect((await page(query)).body).toEqual(whole([], 0, null, null));
      });

      it('lead through every record once', async () => {
        const ids = await of.createMany(7);
        const met: string[] = [];
        let next: string | undefined = `limit=3`;
        while (next !== undefined) {
          met.push(...idsOf((await page(next)).body.results));
          next = (await linksOf(next)).next?.split('?')[1];
        }
        expect(met).toEqual(ids);
      });
    });
  });
}
