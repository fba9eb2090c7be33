import { expectInvalid, expectInvalidId, expectNotFound } from '../problems.js';
import { type CrudClient, idsOf, NOBODY } from './records.js';

const JSON_TYPE = 'application/json; charset=utf-8';

export function describeReads({ app, path, full, label, counts, parameters, get, ...of }: CrudClient): void {
  describe(`GET ${path}`, () => {
    it('is an empty array if there are no records', async () => {
      const { status, body, headers } = await get();
      expect([status, body]).toEqual([200, []]);
      expect(headers.get('content-type')).toBe(JSON_TYPE);
      expect(headers.get('link')).toBeNull();
    });

    it('is an array of whole records', async () => {
      const id = await of.create();
      expect((await get()).body).toEqual([of.recordOf(full, id)]);
    });

    it('gives every record, newest first', async () => {
      const ids = await of.createMany(25);
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

    it('orders by createdAt, not by the order of changes', async () => {
      const [newest, older = ''] = await of.createMany(2);
      await of.patch(older, { title: 'Changed last' });
      expect(idsOf((await get()).body)).toEqual([newest, older]);
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
    ...(counts ? [['/count', 'limit', parameters.count] satisfies [string, string, string[]]] : []),
    [`/${NOBODY}`, 'title', parameters.get],
  ])(
    `GET ${path}%s refuses unknown parameters, and lists the known ones`,
    async (below, parameter, known) => {
      const detail = `"${parameter}" is not a parameter here. Allowed: ${known.join(', ')}.`;
      expectInvalid(await get(`${below}?${parameter}=2`), path + below, { parameter, detail });
    },
  );

  describe(`GET ${path}/:id`, () => {
    it('returns the whole record and its revision', async () => {
      const id = await of.create();
      const { status, body, headers } = await get(`/${id}`);
      expect([status, body]).toEqual([200, of.recordOf(full, id)]);
      expect(headers.get('content-type')).toBe(JSON_TYPE);
      expect(headers.get('etag')).toMatch(/^"[^"]+"$/);
    });

    it('leaves out the optional fields that were not sent', async () => {
      const id = await of.create({ title: 'Title alone' });
      expect((await get(`/${id}`)).body).toEqual(of.recordOf({ title: 'Title alone' }, id));
    });

    it('finds a record by its id in upper case', async () => {
      const id = await of.create();
      expect((await get(`/${id.toUpperCase()}`)).body).toEqual(of.recordOf(full, id));
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

    it.each(['', ' title', ...ODD_FIELDS])(
      'refuses the fields "%s", and lists those it has',
      async (fields) => {
        const { id, record } = await of.created();
        const stray = fields.split(',').find((name) => name !== 'title');
        const { status, body } = await get(`/${id}?fields=${encodeURIComponent(fields)}`);
        expect(status).toBe(400);
        const [{ parameter, detail }] = body.errors as [{ parameter: string; detail: string }];
        expect(parameter).toBe('fields');
        const [sentence, allowed] = detail.split(' Allowed: ');
        expect(sentence).toBe(`"${stray}" is not a field of the records here.`);
        const shown = Object.keys(record);
        expect(allowed?.replace('.', '').split(', ')).toEqual(expect.arrayContaining(shown));
      },
    );
  });
}
