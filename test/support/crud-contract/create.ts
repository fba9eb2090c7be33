import type { CrudContract } from '../crud-contract.js';
import { expectInvalid } from '../problems.js';
import { create, ID, read, recordOf, writer } from './records.js';

export function describeCreate(contract: CrudContract): void {
  const { app, path, full } = contract;
  const post = (body: unknown, headers?: Record<string, string>) =>
    app().post(path, body, writer(contract, headers));

  describe(`POST ${path}`, () => {
    it('answers with only the id, and with the path and revision of the new record', async () => {
      const { status, body, headers } = await post(full);
      expect(status).toBe(201);
      expect(body).toEqual({ _id: expect.stringMatching(ID) });
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(headers.get('location')).toBe(`${path}/${body._id}`);
      expect(headers.get('preference-applied')).toBeNull();
      const atLocation = await app().get(headers.get('location') ?? '');
      expect(atLocation.body).toEqual(recordOf(contract, full, body._id));
      expect(headers.get('etag')).toMatch(/^"[^"]+"$/);
      expect(atLocation.headers.get('etag')).toBe(headers.get('etag'));
    });

    it.each([
      'return=representation',
      'respond-async, Return="representation"; foo=bar',
      'wait=1,return=representation',
    ])('answers with the whole record to Prefer: %s', async (prefer) => {
      const { status, body, headers } = await post(full, { Prefer: prefer });
      expect(status).toBe(201);
      expect(body).toEqual(recordOf(contract, full));
      expect(headers.get('preference-applied')).toBe('return=representation');
      expect(headers.get('location')).toBe(`${path}/${body._id}`);
      expect(await read(contract, body._id)).toEqual({ record: body, etag: headers.get('etag') });
    });

    it.each(['return=minimal', 'return=minimal, return=representation', 'representation', 'return'])(
      'answers with the id alone to Prefer: %s',
      async (prefer) => {
        const { status, body, headers } = await post(full, { Prefer: prefer });
        expect(status).toBe(201);
        expect(body).toEqual({ _id: expect.stringMatching(ID) });
        expect(headers.get('preference-applied')).not.toBe('return=representation');
      },
    );

    it('accepts application/json with a charset of UTF-8, in upper or lower case', async () => {
      const response = await post(
        { title: 'Ünïcödé' },
        { 'Content-Type': 'Application/JSON; Charset="UTF-8"' },
      );
      expect(response.status).toBe(201);
      expect((await read(contract, response.body._id)).record).toMatchObject({ title: 'Ünïcödé' });
    });

    it('sets createdAt and updatedAt to the moment of the create', async () => {
      const before = new Date().toISOString();
      const { record } = await read(contract, await create(contract, full));
      const after = new Date().toISOString();
      expect(record.createdAt).toBe(record.updatedAt);
      expect([before, record.createdAt, after].sort()).toEqual([before, record.createdAt, after]);
    });

    it.each(['_id', 'createdAt', 'updatedAt', '__v', 'unknown', ''])(
      'refuses the field "%s", which is not an input, and names it',
      async (field) => {
        const allowed = ['title', ...contract.optional].join(', ');
        const fault = {
          pointer: `/${field}`,
          detail: `"${field}" is not an input field. Allowed: ${allowed}.`,
        };
        expectInvalid(await post({ ...full, [field]: '2026-01-31T09:00:00.000Z' }), path, fault);
        expect((await app().get(path)).body).toEqual([]);
      },
    );

    it('names every fault of a body at once', async () => {
      const response = await post({ title: '', unknown: 1 });
      expect(response.status).toBe(400);
      const pointers = (response.body.errors as { pointer: string }[]).map(({ pointer }) => pointer);
      expect(pointers.sort()).toEqual(['/title', '/unknown']);
    });

    it.each(contract.optional)(
      'refuses null for the optional field "%s": a create has nothing to remove',
      async (field) => {
        expectInvalid(await post({ ...full, [field]: null }), path, {
          pointer: `/${field}`,
          detail: `"${field}" must not be null. Leave the field out instead.`,
        });
      },
    );
  });
}
