import type { CrudContract } from '../crud-contract.js';
import { expectInvalid } from '../problems.js';
import { create, createMany, idsOf, recordOf } from './records.js';

export function describePages(contract: CrudContract): void {
  const { app, path, full } = contract;
  const page = (query: string) => app().get(`${path}?${query}`);
  const whole = (results: object[], count: number, prev: unknown, next: unknown) =>
    contract.hasCursors ? { results, count, next, prev } : { results, count };
  const at = (offset: number, limit: number) => `${path}?offset=${offset}&limit=${limit}`;

  describe(`GET ${path} with offset or limit`, () => {
    it('returns whole records and the total count', async () => {
      await create(contract, { title: 'Older' });
      const id = await create(contract, full);
      const { status, body } = await page('offset=0&limit=1');
      expect(status).toBe(200);
      expect(body).toEqual(whole([recordOf(contract, full, id)], 2, null, expect.any(String)));
    });

    it('starts at the first record if only limit is given', async () => {
      const ids = await createMany(contract, 3);
      const { body } = await page('limit=2');
      expect({ ids: idsOf(body.results), count: body.count }).toEqual({ ids: ids.slice(0, 2), count: 3 });
    });

    it('holds at most 20 records if only offset is given; offset 20 is the second page', async () => {
      const ids = await createMany(contract, 23);
      expect(idsOf((await page('offset=0')).body.results)).toEqual(ids.slice(0, 20));
      expect(idsOf((await page('offset=20')).body.results)).toEqual(ids.slice(20));
      expect(idsOf((await page('offset=20&limit=20')).body.results)).toEqual(ids.slice(20));
    });

    it('holds up to 100 records', async () => {
      const ids = await createMany(contract, 102);
      const { body } = await page('limit=100');
      expect({ ids: idsOf(body.results), count: body.count }).toEqual({ ids: ids.slice(0, 100), count: 102 });
    });

    it.each([
      '101',
      '0',
      '-1',
      '1.5',
      '1e1',
      '0x10',
      '',
      'ten',
      '%205',
      '+5',
      '５',
      'null',
      'NaN',
      'Infinity',
      '9'.repeat(400),
    ])('refuses limit=%s', async (limit) => {
      expectInvalid(await page(`limit=${limit}`), path, {
        parameter: 'limit',
        detail: '"limit" must be a whole number from 1 to 100.',
      });
    });

    it.each(['-1', '-0', '1.5', '1e1', '', 'x', '9007199254740992', '9'.repeat(400)])(
      'refuses offset=%s',
      async (offset) => {
        expectInvalid(await page(`offset=${offset}`), path, {
          parameter: 'offset',
          detail: '"offset" must be a whole number, at least 0.',
        });
      },
    );

    it('names both parameters if both are out of bounds', async () => {
      expectInvalid(
        await page('limit=101&offset=-1'),
        path,
        { parameter: 'offset', detail: '"offset" must be a whole number, at least 0.' },
        { parameter: 'limit', detail: '"limit" must be a whole number from 1 to 100.' },
      );
    });

    it.each(['limit=1&limit=2', 'offset=1&limit=2&offset=1'])(
      'refuses a repeated parameter: %s',
      async (query) => {
        const parameter = query.slice(0, query.indexOf('='));
        expectInvalid(await page(query), path, { parameter, detail: `"${parameter}" must be given once.` });
      },
    );

    it('accepts the greatest offset that a number can hold', async () => {
      await createMany(contract, 1);
      expect((await page('offset=9007199254740991')).body).toEqual(whole([], 1, expect.any(String), null));
    });

    describe('links', () => {
      async function linksOf(query: string) {
        const { headers } = await page(query);
        const entries = (headers.get('link') ?? '').split(', ').map((link) => {
          const [, target = '', rel = ''] = /^<([^>]+)>; rel="(\w+)"$/.exec(link) ?? [];
          const url = new URL(target, app().url + path);
          return [rel, url.pathname + url.search] as const;
        });
        return Object.fromEntries(entries);
      }

      it('at the start: first, next and last', async () => {
        await createMany(contract, 5);
        expect(await linksOf('limit=2')).toEqual({ first: at(0, 2), next: at(2, 2), last: at(4, 2) });
      });

      it('in the middle: first, prev, next and last', async () => {
        await createMany(contract, 5);
        const links = { first: at(0, 2), prev: at(0, 2), next: at(4, 2), last: at(4, 2) };
        expect(await linksOf('offset=2&limit=2')).toEqual(links);
      });

      it('at the end: first, prev and last', async () => {
        await createMany(contract, 5);
        expect(await linksOf('offset=4&limit=2')).toEqual({
          first: at(0, 2),
          prev: at(2, 2),
          last: at(4, 2),
        });
      });

      it('if the last page is full: no next', async () => {
        await createMany(contract, 4);
        expect(await linksOf('offset=2&limit=2')).toEqual({
          first: at(0, 2),
          prev: at(0, 2),
          last: at(2, 2),
        });
      });

      it('of an empty collection: first and last', async () => {
        expect((await page('limit=2')).body).toEqual(whole([], 0, null, null));
        expect(await linksOf('limit=2')).toEqual({ first: at(0, 2), last: at(0, 2) });
      });

      it('beyond the end: prev is the last page', async () => {
        await createMany(contract, 3);
        expect(await linksOf('offset=50&limit=2')).toEqual({
          first: at(0, 2),
          prev: at(2, 2),
          last: at(2, 2),
        });
      });

      it('lead through every record once', async () => {
        const ids = await createMany(contract, 7);
        const met: string[] = [];
        let next: string | undefined = `limit=3`;
        while (next !== undefined) {
          met.push(...idsOf((await page(next)).body.results));
          next = ((await linksOf(next)).next as string | undefined)?.split('?')[1];
        }
        expect(met).toEqual(ids);
      });
    });

    it('answers HEAD like GET, without the body', async () => {
      await createMany(contract, 2);
      const got = await page('limit=1');
      const { status, text, headers } = await app().request('HEAD', `${path}?limit=1`);
      expect({ status, text }).toEqual({ status: 200, text: '' });
      expect(headers.get('link')).toBe(got.headers.get('link'));
    });
  });
}
