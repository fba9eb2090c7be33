import type { CrudContract } from '../crud-contract.js';
import { expectInvalid, expectInvalidId, expectNotFound } from '../problems.js';
import { create, NOBODY, read, recordOf, writer } from './records.js';

export function describeUpdate(contract: CrudContract): void {
  const { app, path, full, label } = contract;
  const patch = (id: string, body: unknown, headers?: Record<string, string>) =>
    app().patch(`${path}/${id}`, body, writer(contract, headers));

  describe(`PATCH ${path}/:id`, () => {
    it.each([
      'application/json',
      'application/merge-patch+json',
      'application/merge-patch+json; charset=utf-8',
    ])('sets the supplied fields only, sent as %s', async (type) => {
      const id = await create(contract, full);
      const { status, body } = await patch(id, { title: 'Another title' }, { 'Content-Type': type });
      expect(status).toBe(200);
      expect(body).toEqual({ updated: true });
      expect((await read(contract, id)).record).toEqual(
        recordOf(contract, { ...full, title: 'Another title' }, id),
      );
    });

    it('gives the record a new revision and updatedAt, and leaves createdAt', async () => {
      const id = await create(contract, full);
      const before = await read(contract, id);
      await patch(id, { title: 'Another title' });
      const after = await read(contract, id);
      expect(after.etag).toMatch(/^"[^"]+"$/);
      expect(after.etag).not.toBe(before.etag);
      expect(after.record.createdAt).toBe(before.record.createdAt);
      expect(String(after.record.updatedAt) >= String(before.record.updatedAt)).toBe(true);
      await patch(id, { title: 'A third title' });
      expect([before.etag, after.etag]).not.toContain((await read(contract, id)).etag);
    });

    it('changes no other record', async () => {
      const [other, id] = [await create(contract, full), await create(contract, full)];
      const before = await read(contract, other);
      await patch(id, { title: 'Another title' });
      expect(await read(contract, other)).toEqual(before);
    });

    it('changes nothing with an empty object, not even the revision', async () => {
      const id = await create(contract, full);
      const before = await read(contract, id);
      const { status, body } = await patch(id, {});
      expect({ status, body }).toEqual({ status: 200, body: { updated: true } });
      expect(await read(contract, id)).toEqual(before);
    });

    const removable = contract.optional.filter((field) => !(field in contract.defaults));

    it.each(removable)('removes the optional field "%s" with null, present or not', async (field) => {
      const id = await create(contract, full);
      const left = Object.fromEntries(Object.entries(full).filter(([name]) => name !== field));
      for (const round of ['present', 'absent']) {
        const { status, body } = await patch(id, { [field]: null });
        expect({ round, status, body }).toEqual({ round, status: 200, body: { updated: true } });
        expect((await read(contract, id)).record).toEqual(recordOf(contract, left, id));
      }
    });

    const defaulted = Object.entries(contract.defaults).filter(([field]) =>
      contract.optional.includes(field),
    );
    if (defaulted.length > 0) {
      it.each(defaulted)('gives "%s" its default %j back with null', async (field, value) => {
        const id = await create(contract, full);
        expect((await read(contract, id)).record).toMatchObject({ [field]: full[field] });
        for (const round of ['another value', 'the default']) {
          const { status, body } = await patch(id, { [field]: null });
          expect({ round, status, body }).toEqual({ round, status: 200, body: { updated: true } });
          expect((await read(contract, id)).record).toEqual(
            recordOf(contract, { ...full, [field]: value }, id),
          );
        }
      });
    }

    it('sets one field and removes another in one update', async () => {
      const [field = ''] = contract.optional;
      const id = await create(contract, full);
      await patch(id, { title: 'Set', [field]: null });
      const { record } = await read(contract, id);
      expect(record.title).toBe('Set');
      expect(record).not.toHaveProperty(field);
    });

    it('refuses null for the required title, and changes nothing', async () => {
      const id = await create(contract, full);
      const before = await read(contract, id);
      expectInvalid(await patch(id, { title: null }), `${path}/${id}`, {
        pointer: '/title',
        detail: '"title" is required and cannot be removed with null.',
      });
      expect(await read(contract, id)).toEqual(before);
    });

    it.each(['_id', 'createdAt', 'updatedAt', '__v', 'unknown'])(
      'refuses the field "%s", which is not an input, even as null, and names it',
      async (field) => {
        const id = await create(contract, full);
        const before = await read(contract, id);
        const allowed = ['title', ...contract.optional].join(', ');
        const fault = {
          pointer: `/${field}`,
          detail: `"${field}" is not an input field. Allowed: ${allowed}.`,
        };
        for (const value of [NOBODY, null]) {
          expectInvalid(await patch(id, { title: 'Changed', [field]: value }), `${path}/${id}`, fault);
        }
        expect(await read(contract, id)).toEqual(before);
      },
    );

    it.each([{ title: 'Nobody' }, {}])(
      `answers 404 "${label} not found" if no record matches: %j`,
      async (body) => {
        expectNotFound(await patch(NOBODY, body), `${path}/${NOBODY}`, label);
        expect((await app().get(path)).body).toEqual([]);
      },
    );

    it('refuses an id that is not 24 hexadecimal digits', async () => {
      expectInvalidId(await patch('1', { title: 'One' }), `${path}/1`);
    });

    it('needs a body', async () => {
      const id = await create(contract, full);
      const response = await app().request('PATCH', `${path}/${id}`, writer(contract));
      expectInvalid(response, `${path}/${id}`, { pointer: '', detail: 'The body must be a JSON object.' });
    });
  });
}
