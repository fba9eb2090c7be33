import type { CrudContract } from '../crud-contract.js';
import { expectNotFound, expectProblem } from '../problems.js';
import { create, NOBODY, read, recordOf, writer } from './records.js';

const STALE = 'The record has changed since you read it. Read it again, and send its new ETag as If-Match.';

/** Conditional requests (RFC 9110, section 13) and the preference on updates (RFC 7240). */
export function describeConditions(contract: CrudContract): void {
  const { app, path, full, label } = contract;
  const get = (id: string, tags: string) =>
    app().get(`${path}/${id}`, { headers: { 'If-None-Match': tags } });
  const patch = (id: string, body: object, headers: Record<string, string>) =>
    app().patch(`${path}/${id}`, body, writer(contract, headers));
  const stale = (id: string) => ({
    status: 412,
    code: 'PRECONDITION_FAILED' as const,
    detail: STALE,
    instance: `${path}/${id}`,
  });

  describe(`conditional requests to ${path}/:id`, () => {
    it.each([
      ['its ETag', (etag: string) => etag],
      ['its ETag, weak', (etag: string) => `W/${etag}`],
      ['a list with its ETag', (etag: string) => `"other", ${etag}, "a,b"`],
      ['*', () => '*'],
    ])('GET answers 304 without a body to If-None-Match with %s', async (_case, tagsOf) => {
      const id = await create(contract, full);
      const { etag } = await read(contract, id);
      const response = await get(id, tagsOf(String(etag)));
      expect([response.status, response.text, response.headers.get('etag')]).toEqual([304, '', etag]);
    });

    it('GET answers with the record once it has changed', async () => {
      const id = await create(contract, full);
      const { etag } = await read(contract, id);
      await patch(id, { title: 'Another title' }, {});
      const response = await get(id, String(etag));
      expect([response.status, response.body]).toEqual([
        200,
        recordOf(contract, { ...full, title: 'Another title' }, id),
      ]);
    });

    it('PATCH with If-Match changes the revision that was read, and only that', async () => {
      const id = await create(contract, full);
      const { etag } = await read(contract, id);
      expect((await patch(id, { title: 'First' }, { 'If-Match': String(etag) })).status).toBe(200);
      const after = await read(contract, id);
      for (const tags of [String(etag), `W/${String(after.etag)}`, '"other"', `"${'9'.repeat(30)}"`]) {
        for (const body of [{ title: 'Second' }, {}]) {
          expectProblem(await patch(id, body, { 'If-Match': tags }), stale(id));
        }
      }
      expect(await read(contract, id)).toEqual(after);
      expect((await patch(id, { title: 'Third' }, { 'If-Match': `"other", ${after.etag}` })).status).toBe(
        200,
      );
      expect((await patch(id, { title: 'Fourth' }, { 'If-Match': '*' })).status).toBe(200);
    });

    it('exactly one of several concurrent PATCHes with one ETag succeeds', async () => {
      const id = await create(contract, full);
      const { etag } = await read(contract, id);
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, i) =>
          patch(id, { title: `Title ${i}` }, { 'If-Match': String(etag) }),
        ),
      );
      const statuses = answers.map(({ status }) => status).sort();
      expect(statuses).toEqual([200, ...Array.from({ length: 9 }, () => 412)]);
      const winner = answers.findIndex(({ status }) => status === 200);
      expect((await read(contract, id)).record.title).toBe(`Title ${winner}`);
    });

    it('DELETE with If-Match removes the revision that was read, and only that', async () => {
      const id = await create(contract, full);
      const { etag } = await read(contract, id);
      await patch(id, { title: 'Another title' }, {});
      const before = await read(contract, id);
      const remove = (tags: string) => app().del(`${path}/${id}`, writer(contract, { 'If-Match': tags }));
      expectProblem(await remove(String(etag)), stale(id));
      expect(await read(contract, id)).toEqual(before);
      expect((await remove(String(before.etag))).status).toBe(200);
      expectNotFound(await app().get(`${path}/${id}`), `${path}/${id}`, label);
    });

    it('answers 404 to a PATCH with If-Match if there is no record', async () => {
      expectNotFound(await patch(NOBODY, {}, { 'If-Match': '"0"' }), `${path}/${NOBODY}`, label);
    });

    it('reads a list of tags with empty entries', async () => {
      const id = await create(contract, full);
      const { etag } = await read(contract, id);
      for (const tags of [`,${etag}`, `"x",,${etag}, ,`, `${etag},W/"x",`]) {
        expect((await get(id, tags)).status).toBe(304);
        expect((await patch(id, {}, { 'If-Match': tags })).status).toBe(200);
      }
    });

    it.each(['0', '"0', '"0" "1"', 'W/0', ',', '*, "0"'])(
      'refuses the malformed list of tags %s',
      async (tags) => {
        const id = await create(contract, full);
        const detail = (name: string) =>
          `"${name}" must be * or a list of ETags with their quotes, such as "3".`;
        expect((await get(id, tags)).body.errors).toEqual([
          { parameter: 'If-None-Match', detail: detail('If-None-Match') },
        ]);
        expect((await patch(id, {}, { 'If-Match': tags })).body.errors).toEqual([
          { parameter: 'If-Match', detail: detail('If-Match') },
        ]);
      },
    );

    it('PATCH answers with the whole record and its ETag if the client prefers that', async () => {
      const id = await create(contract, full);
      for (const body of [{ title: 'Another title' }, {}]) {
        const { status, body: record, headers } = await patch(id, body, { Prefer: 'return=representation' });
        expect(status).toBe(200);
        expect(headers.get('preference-applied')).toBe('return=representation');
        expect(await read(contract, id)).toEqual({ record, etag: headers.get('etag') });
      }
    });
  });
}
