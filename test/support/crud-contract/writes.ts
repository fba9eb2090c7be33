import { fault } from '../faults.js';
import { expectInvalid, expectInvalidId, expectNotFound, expectProblem } from '../problems.js';
import type { TestResponse } from '../test-app.js';
import { ID } from '../whole-records.js';
import { type CrudClient, expectUpdated, NOBODY } from './records.js';

/** What a body may not have, although a record does. */
const NO_INPUTS = ['_id', 'createdAt', 'updatedAt', '__v', 'unknown'];

export function describeCreate({ optional, path, full, get, post, ...of }: CrudClient): void {
  describe(`POST ${path}`, () => {
    it.each(['application/json', 'Application/JSON; Charset="UTF-8"'])(
      'sent as %s, answers with only the id, and with the path and revision of the new record',
      async (type) => {
        const before = new Date().toISOString();
        const sent = { ...full, title: 'Ünïcödé' };
        const { status, body, headers } = await post(sent, { 'Content-Type': type });
        const after = new Date().toISOString();
        expect([status, body]).toEqual([201, { _id: ID }]);
        expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
        expect(headers.get('location')).toBe(of.at(body._id));
        expect(headers.get('preference-applied')).toBeNull();
        expect(headers.get('etag')).toMatch(/^"[^"]+"$/);
        const { record, etag } = await of.read(body._id);
        expect([record, etag]).toEqual([of.recordOf(sent, body._id), headers.get('etag')]);
        expect(record.createdAt).toBe(record.updatedAt);
        expect([before, record.createdAt, after].sort()).toEqual([before, record.createdAt, after]);
      },
    );

    it.each([
      ['return=representation', 'whole record'],
      ['respond-async, Return="representation"; foo=bar', 'whole record'],
      ['wait=1,return=representation', 'whole record'],
      ['return=minimal', 'id alone'],
      ['return=minimal, return=representation', 'id alone'],
      ['representation', 'id alone'],
      ['return', 'id alone'],
    ])('answers to Prefer: %s with the %s', async (prefer, answer) => {
      const isWhole = answer === 'whole record';
      const { status, body, headers } = await post(full, { Prefer: prefer });
      expect([status, body]).toEqual([201, isWhole ? of.recordOf(full) : { _id: ID }]);
      expect(headers.get('preference-applied') === 'return=representation').toBe(isWhole);
      expect(headers.get('location')).toBe(of.at(body._id));
      const { record, etag } = await of.read(body._id);
      expect([isWhole ? record : { _id: record._id }, etag]).toEqual([body, headers.get('etag')]);
    });

    it('refuses a field that is not an input, and names it', async () => {
      for (const field of [...NO_INPUTS, '']) {
        const response = await post({ ...full, [field]: '2026-01-31T09:00:00.000Z' });
        expectInvalid(response, path, of.notInput(field));
      }
      expect((await get()).body).toEqual([]);
    });

    it('names every fault of a body at once', async () => {
      const response = await post({ title: '', unknown: 1 });
      expect(response.status).toBe(400);
      const pointers = (response.body.errors as { pointer: string }[]).map(({ pointer }) => pointer);
      expect(pointers.sort()).toEqual(['/title', '/unknown']);
    });

    it.each(['title', ...optional])(
      'refuses null for "%s": a create has nothing to remove',
      async (field) => {
        const noNull = fault(`/${field}`, 'must not be null. Leave the field out instead.');
        expectInvalid(await post({ ...full, [field]: null }), path, noNull);
      },
    );
  });
}

export function describeUpdate({ path, full, label, optional, patch, ...of }: CrudClient): void {
  describe(`PATCH ${path}/:id`, () => {
    const MERGE_PATCH = 'application/merge-patch+json';
    it.each(['application/json', MERGE_PATCH, `${MERGE_PATCH}; charset=utf-8`])(
      'sets the supplied fields only, sent as %s',
      async (type) => {
        const id = await of.create();
        expectUpdated(await patch(id, { title: 'Another title' }, { 'Content-Type': type }));
        expect((await of.read(id)).record).toEqual(of.recordOf({ ...full, title: 'Another title' }, id));
      },
    );

    it('gives the record a new revision and updatedAt, leaves createdAt, and changes no other record', async () => {
      const other = await of.created();
      const { id, ...before } = await of.created();
      const { headers } = await patch(id, { title: 'Another title' });
      const after = await of.read(id);
      expect(after.etag).toMatch(/^"[^"]+"$/);
      expect(headers.get('etag')).toBe(after.etag);
      expect(after.etag).not.toBe(before.etag);
      expect(after.record.createdAt).toBe(before.record.createdAt);
      expect(String(after.record.updatedAt) >= String(before.record.updatedAt)).toBe(true);
      await patch(id, { title: 'A third title' });
      expect([before.etag, after.etag]).not.toContain((await of.read(id)).etag);
      expect({ id: other.id, ...(await of.read(other.id)) }).toEqual(other);
    });

    it.each(optional)(
      'removes the optional field "%s" with null, or gives its default back, twice, and while it sets another',
      async (field) => {
        const { id, record } = await of.created();
        expect(record).toMatchObject({ [field]: full[field] });
        const { [field]: value, ...left } = full;
        for (const set of [{}, {}, { [field]: value }, { title: 'Set' }]) {
          expectUpdated(await patch(id, { [field]: null, ...set }));
          expect((await of.read(id)).record).toEqual(of.recordOf({ ...left, ...set }, id));
        }
      },
    );

    it('changes nothing with an empty object, not even the revision, or with null for the title', async () => {
      const { id, ...before } = await of.created();
      const answer = await patch(id, {});
      expectUpdated(answer);
      expect(answer.headers.get('etag')).toBe(before.etag);
      expect(await of.read(id)).toEqual(before);
      const required = fault('/title', 'is required and cannot be removed with null.');
      expectInvalid(await patch(id, { title: null }), of.at(id), required);
      expect(await of.read(id)).toEqual(before);
    });

    it('refuses a field that is not an input, even as null, and names it', async () => {
      const { id, ...before } = await of.created();
      for (const [field, value] of NO_INPUTS.flatMap((name) =>
        [NOBODY, null].map((one) => [name, one] as const),
      )) {
        const response = await patch(id, { title: 'Changed', [field]: value });
        expectInvalid(response, of.at(id), of.notInput(field));
      }
      expect(await of.read(id)).toEqual(before);
    });

    it(`answers 404 "${label} not found" if there is none, with If-Match, too`, async () => {
      for (const body of [{ title: 'Nobody' }, {}])
        for (const headers of [undefined, { 'If-Match': '"0"' }])
          expectNotFound(await patch(NOBODY, body, headers), of.at(NOBODY), label);
      expect((await of.get()).body).toEqual([]);
    });

    it('needs an id of 24 hexadecimal digits, and a body', async () => {
      expectInvalidId(await patch('1', { title: 'One' }), of.at('1'));
      const id = await of.create();
      const noBody = { pointer: '', detail: 'The body must be a JSON object.' };
      expectInvalid(await patch(id, undefined), of.at(id), noBody);
    });
  });
}

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

    it('refuses malformed tags', async () => {
      const id = await of.create();
      const detail = 'must be * or a list of ETags with their quotes, such as "3".';
      const faults = ['If-None-Match', 'If-Match'].map((name) => [
        { parameter: name, detail: `"${name}" ${detail}` },
      ]);
      for (const tags of ['0', '"0', '"0" "1"', 'W/0', ',', '*, "0"']) {
        const answers = [await get(id, tags), await patch(id, undefined, tags)];
        expect([tags, ...answers.map(({ body }) => body.errors as unknown)]).toEqual([tags, ...faults]);
        // A cache would take that for the record.
        expect(answers.map(({ headers }) => headers.get('etag'))).toEqual([null, null]);
      }
    });

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
