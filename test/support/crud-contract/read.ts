import type { CrudContract } from '../crud-contract.js';
import { expectInvalid, expectInvalidId, expectNotFound } from '../problems.js';
import { create, createMany, idsOf, NOBODY, recordOf } from './records.js';

export function describeList(contract: CrudContract): void {
  const { app, path, full, parameters } = contract;

  describe(`GET ${path}`, () => {
    it('is an empty array if there are no records', async () => {
      const { status, body, headers } = await app().get(path);
      expect(status).toBe(200);
      expect(body).toEqual([]);
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(headers.get('link')).toBeNull();
    });

    it('is an array of whole records', async () => {
      const id = await create(contract, full);
      expect((await app().get(path)).body).toEqual([recordOf(contract, full, id)]);
    });

    it('gives every record, newest first', async () => {
      const ids = await createMany(contract, 25);
      expect(idsOf((await app().get(path)).body)).toEqual(ids);
    });

    it('orders records of the same millisecond by id, descending, in the array as in pages', async () => {
      const ids = await createMany(contract, 6);
      const collections = await app().database.collections();
      const sameMoment = { $set: { createdAt: new Date('2026-01-31T09:00:00.000Z') } };
      await Promise.all(collections.map((collection) => collection.updateMany({}, sameMoment)));
      const expected = ids.sort().reverse();
      expect(idsOf((await app().get(path)).body)).toEqual(expected);
      expect(idsOf((await app().get(`${path}?limit=4`)).body.results)).toEqual(expected.slice(0, 4));
      expect(idsOf((await app().get(`${path}?offset=4`)).body.results)).toEqual(expected.slice(4));
    });

    it('orders by createdAt, not by the order in which ids were made', async () => {
      const [newest, older] = await createMany(contract, 2);
      await app().patch(`${path}/${older}`, { title: 'Changed last' }, { token: contract.token?.() });
      expect(idsOf((await app().get(path)).body)).toEqual([newest, older]);
    });

    it('refuses unknown parameters, and lists the known ones', async () => {
      expectInvalid(await app().get(`${path}?page=2`), path, {
        parameter: 'page',
        detail: `"page" is not a parameter here. Allowed: ${parameters.list.join(', ')}.`,
      });
    });
  });
}

export function describeCount(contract: CrudContract): void {
  const { app, path, parameters } = contract;
  if (!contract.counts) return;

  describe(`GET ${path}/count`, () => {
    it('counts the records', async () => {
      expect((await app().get(`${path}/count`)).body).toEqual({ count: 0 });
      await createMany(contract, 3);
      const { status, body } = await app().get(`${path}/count`);
      expect(status).toBe(200);
      expect(body).toEqual({ count: 3 });
    });

    it('refuses unknown parameters, and lists the known ones', async () => {
      expectInvalid(await app().get(`${path}/count?limit=1`), `${path}/count`, {
        parameter: 'limit',
        detail: `"limit" is not a parameter here. Allowed: ${parameters.count.join(', ')}.`,
      });
    });
  });
}

export function describeGet(contract: CrudContract): void {
  const { app, path, full, label } = contract;

  describe(`GET ${path}/:id`, () => {
    it('returns the whole record and its revision', async () => {
      const id = await create(contract, full);
      const { status, body, headers } = await app().get(`${path}/${id}`);
      expect(status).toBe(200);
      expect(body).toEqual(recordOf(contract, full, id));
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(headers.get('etag')).toMatch(/^"[^"]+"$/);
    });

    it('leaves out the optional fields that were not sent', async () => {
      const id = await create(contract, { title: 'Title alone' });
      expect((await app().get(`${path}/${id}`)).body).toEqual(
        recordOf(contract, { title: 'Title alone' }, id),
      );
    });

    it('finds a record by its id in upper case', async () => {
      const id = await create(contract, full);
      expect((await app().get(`${path}/${id.toUpperCase()}`)).body).toEqual(recordOf(contract, full, id));
    });

    it('answers HEAD like GET, without the body, as lists, pages and counts do', async () => {
      const id = await create(contract, full);
      await create(contract, full);
      const paths = ['', '?limit=1', `/${id}`, ...(contract.counts ? ['/count'] : [])];
      for (const below of paths) {
        const got = await app().get(path + below);
        const { status, text, headers } = await app().request('HEAD', path + below);
        expect([below, status, text]).toEqual([below, 200, '']);
        const names = ['content-type', 'link', ...(below.startsWith('/') ? ['etag', 'content-length'] : [])];
        for (const name of names) expect([name, headers.get(name)]).toEqual([name, got.headers.get(name)]);
      }
    });

    it(`answers 404 "${label} not found" if there is none`, async () => {
      expectNotFound(await app().get(`${path}/${NOBODY}`), `${path}/${NOBODY}`, label);
      expect((await app().request('HEAD', `${path}/${NOBODY}`)).status).toBe(404);
    });

    it.each(['1', NOBODY.slice(1), `${NOBODY}0`, `g${NOBODY.slice(1)}`, 'todoitem0001', '%20'.repeat(24)])(
      'refuses the id %s',
      async (id) => {
        expectInvalidId(await app().get(`${path}/${id}`), `${path}/${id}`);
      },
    );

    it('shows the requested fields, and the identifier', async () => {
      const id = await create(contract, full);
      const whole = await app().get(`${path}/${id}`);
      const { _id, title, createdAt } = whole.body as Record<string, unknown>;
      const { body, headers } = await app().get(`${path}/${id}?fields=createdAt,title,title`);
      expect(body).toEqual({ _id, title, createdAt });
      expect(headers.get('etag')).toBe(whole.headers.get('etag'));
      expect((await app().get(`${path}/${id}?fields=_id`)).body).toEqual({ _id });
      const every = Object.keys(whole.body as object).join('%2C');
      expect((await app().get(`${path}/${id}?fields=${every}`)).text).toBe(whole.text);
    });

    const ODD_FIELDS = [
      '',
      ' title',
      ...'__v title, ,title -title title.length Title $where toString'.split(' '),
    ];

    it.each(ODD_FIELDS)('refuses the fields "%s", and lists those it has', async (fields) => {
      const id = await create(contract, full);
      const stray = fields.split(',').find((name) => name !== 'title');
      const shown = Object.keys((await app().get(`${path}/${id}`)).body as object);
      const { status, body } = await app().get(`${path}/${id}?fields=${encodeURIComponent(fields)}`);
      expect(status).toBe(400);
      const [{ parameter, detail }] = body.errors as [{ parameter: string; detail: string }];
      expect(parameter).toBe('fields');
      const [sentence, allowed] = detail.split(' Allowed: ');
      expect(sentence).toBe(`"${stray}" is not a field of the records here.`);
      expect(allowed?.replace('.', '').split(', ')).toEqual(expect.arrayContaining(shown));
    });

    it('refuses unknown parameters, and lists the known ones', async () => {
      const id = await create(contract, full);
      expectInvalid(await app().get(`${path}/${id}?title=x`), `${path}/${id}`, {
        parameter: 'title',
        detail: `"title" is not a parameter here. Allowed: ${contract.parameters.get.join(', ')}.`,
      });
      expectInvalid(await app().get(`${path}/${id}?fields=title&fields=title`), `${path}/${id}`, {
        parameter: 'fields',
        detail: '"fields" must be given once.',
      });
    });
  });
}
