import { expectNotFound, expectProblem } from '../problems.js';
import type { TestResponse } from '../test-app.js';
import type { CrudClient } from './records.js';

/** Conditional requests (RFC 9110, section 13) and the preference on updates (RFC 7240). */
export function describeConditions({ path, full, label, ...of }: CrudClient): void {
  const get = (id: string, tags: string) => of.get(`/${id}`, { 'If-None-Match': tags });
  const patch = (id: string, title: string | undefined, tags: string) =>
    of.patch(id, { title }, { 'If-Match': tags });
  const expectStale = (response: TestResponse, id: string) => {
    const detail =
      'The record has changed since you read it. Read it again, and send its new ETag as If-Match.';
    expectProblem(response, { status: 412, code: 'PRECONDITION_FAILED', detail, instance: of.at(id) });
  };

  describe(`conditional requests to ${path}/:id`, () => {
    it('GET answers 304 without a body to If-None-Match with its ETag, weak or in a list, or with *', async () => {
      const { id, etag } = await of.created();
      for (const tags of [etag, `W/${etag}`, `"other", ${etag}, "a,b"`, '*']) {
        const { status, text, headers } = await get(id, tags);
        expect([tags, status, text, headers.get('etag')]).toEqual([tags, 304, '', etag]);
      }
    });

    it('PATCH with If-Match changes the revision that was read, and only that; GET then answers anew', async () => {
      const { id, etag } = await of.created();
      expect((await patch(id, 'First', etag)).status).toBe(200);
      const after = await of.read(id);
      expect((await get(id, etag)).body).toEqual(of.recordOf({ ...full, title: 'First' }, id));
      for (const tags of [etag, `W/${after.etag}`, '"other"', `"${'9'.repeat(30)}"`]) {
        for (const title of ['Second', undefined]) expectStale(await patch(id, title, tags), id);
      }
      expect(await of.read(id)).toEqual(after);
      expect((await patch(id, 'Third', `"other", ${after.etag}`)).status).toBe(200);
      expect((await patch(id, 'Fourth', '*')).status).toBe(200);
    });

    it('exactly one of several concurrent PATCHes with one ETag succeeds', async () => {
      const { id, etag } = await of.created();
      const sent = Array.from({ length: 10 }, (_, i) => patch(id, `Title ${i}`, etag));
      const statuses = (await Promise.all(sent)).map(({ status }) => status);
      expect(statuses.toSorted()).toEqual([200, ...Array.from({ length: 9 }, () => 412)]);
      expect((await of.read(id)).record.title).toBe(`Title ${statuses.indexOf(200)}`);
    });

    it('DELETE with If-Match removes the revision that was read, and only that', async () => {
      const { id, etag } = await of.created();
      await of.patch(id, { title: 'Another title' });
      const before = await of.read(id);
      expectStale(await of.del(id, { 'If-Match': etag }), id);
      expect(await of.read(id)).toEqual(before);
      expect((await of.del(id, { 'If-Match': before.etag })).status).toBe(200);
      expectNotFound(await of.get(`/${id}`), of.at(id), label);
    });

    it('reads a list of tags with empty entries', async () => {
      const { id, etag } = await of.created();
      for (const tags of [`,${etag}`, `"x",,${etag}, ,`, `${etag},W/"x",`]) {
        expect((await get(id, tags)).status).toBe(304);
        expect((await patch(id, undefined, tags)).status).toBe(200);
      }
    });

    it.each(['0', '"0', '"0" "1"', 'W/0', ',', '*, "0"'])(
      'refuses the malformed list of tags %s',
      async (tags) => {
        const id = await of.create();
        const fault = (parameter: string) => ({
          parameter,
          detail: `"${parameter}" must be * or a list of ETags with their quotes, such as "3".`,
        });
        expect((await get(id, tags)).body.errors).toEqual([fault('If-None-Match')]);
        expect((await patch(id, undefined, tags)).body.errors).toEqual([fault('If-Match')]);
      },
    );

    it('PATCH answers with the whole record and its ETag if the client prefers that', async () => {
      const id = await of.create();
      for (const body of [{ title: 'Another title' }, {}]) {
        const response = await of.patch(id, body, { Prefer: 'return=representation' });
        expect(response.status).toBe(200);
        expect(response.headers.get('preference-applied')).toBe('return=representation');
        const etag = response.headers.get('etag');
        expect(await of.read(id)).toEqual({ record: response.body as object, etag });
      }
    });
  });
}
