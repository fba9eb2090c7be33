import { fault } from '../faults.js';
import { expectInvalid } from '../problems.js';
import { type CrudClient, ID } from './records.js';

export function describeCreate({ optional, path, full, get, post, ...of }: CrudClient): void {
  describe(`POST ${path}`, () => {
    it('answers with only the id, and with the path and revision of the new record', async () => {
      const { status, body, headers } = await post(full);
      expect([status, body]).toEqual([201, { _id: expect.stringMatching(ID) }]);
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(headers.get('location')).toBe(of.at(body._id));
      expect(headers.get('preference-applied')).toBeNull();
      expect(headers.get('etag')).toMatch(/^"[^"]+"$/);
      const record = of.recordOf(full, body._id);
      expect(await of.read(body._id)).toEqual({ record, etag: headers.get('etag') });
    });

    it.each([
      'return=representation',
      'respond-async, Return="representation"; foo=bar',
      'wait=1,return=representation',
    ])('answers with the whole record to Prefer: %s', async (prefer) => {
      const { status, body, headers } = await post(full, { Prefer: prefer });
      expect([status, body]).toEqual([201, of.recordOf(full)]);
      expect(headers.get('preference-applied')).toBe('return=representation');
      expect(headers.get('location')).toBe(of.at(body._id));
      expect(await of.read(body._id)).toEqual({ record: body, etag: headers.get('etag') });
    });

    it.each(['return=minimal', 'return=minimal, return=representation', 'representation', 'return'])(
      'answers with the id alone to Prefer: %s',
      async (prefer) => {
        const { status, body, headers } = await post(full, { Prefer: prefer });
        expect([status, body]).toEqual([201, { _id: expect.stringMatching(ID) }]);
        expect(headers.get('preference-applied')).not.toBe('return=representation');
      },
    );

    it('accepts application/json with a charset of UTF-8, in upper or lower case', async () => {
      const headers = { 'Content-Type': 'Application/JSON; Charset="UTF-8"' };
      const response = await post({ title: 'Ünïcödé' }, headers);
      expect(response.status).toBe(201);
      expect((await of.read(response.body._id)).record).toMatchObject({ title: 'Ünïcödé' });
    });

    it('sets createdAt and updatedAt to the moment of the create', async () => {
      const before = new Date().toISOString();
      const { record } = await of.created();
      const after = new Date().toISOString();
      expect(record.createdAt).toBe(record.updatedAt);
      expect([before, record.createdAt, after].sort()).toEqual([before, record.createdAt, after]);
    });

    it.each(['_id', 'createdAt', 'updatedAt', '__v', 'unknown', ''])(
      'refuses the field "%s", which is not an input, and names it',
      async (field) => {
        const response = await post({ ...full, [field]: '2026-01-31T09:00:00.000Z' });
        expectInvalid(response, path, of.notInput(field));
        expect((await get()).body).toEqual([]);
      },
    );

    it('names every fault of a body at once', async () => {
      const response = await post({ title: '', unknown: 1 });
      expect(response.status).toBe(400);
      const pointers = (response.body.errors as { pointer: string }[]).map(({ pointer }) => pointer);
      expect(pointers.sort()).toEqual(['/title', '/unknown']);
    });

    it.each(optional)(
      'refuses null for the optional field "%s": a create has nothing to remove',
      async (field) => {
        const noNull = fault(`/${field}`, 'must not be null. Leave the field out instead.');
        expectInvalid(await post({ ...full, [field]: null }), path, noNull);
      },
    );
  });
}
