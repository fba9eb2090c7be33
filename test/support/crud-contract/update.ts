import { fault } from '../faults.js';
import { expectInvalid, expectInvalidId, expectNotFound } from '../problems.js';
import { type CrudClient, expectUpdated, NOBODY } from './records.js';

export function describeUpdate({ path, full, label, optional, patch, ...of }: CrudClient): void {
  describe(`PATCH ${path}/:id`, () => {
    it.each([
      'application/json',
      'application/merge-patch+json',
      'application/merge-patch+json; charset=utf-8',
    ])('sets the supplied fields only, sent as %s', async (type) => {
      const id = await of.create();
      expectUpdated(await patch(id, { title: 'Another title' }, { 'Content-Type': type }));
      expect((await of.read(id)).record).toEqual(of.recordOf({ ...full, title: 'Another title' }, id));
    });

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

    it('changes nothing with an empty object, not even the revision', async () => {
      const { id, ...before } = await of.created();
      const answer = await patch(id, {});
      expectUpdated(answer);
      expect(await of.read(id)).toEqual(before);
      expect(answer.headers.get('etag')).toBe(before.etag);
    });

    it.each(optional)(
      'removes the optional field "%s" with null, or gives its default back, twice',
      async (field) => {
        const { id, record } = await of.created();
        expect(record).toMatchObject({ [field]: full[field] });
        const { [field]: _, ...left } = full;
        for (const round of ['present', 'absent']) {
          const { status, body } = await patch(id, { [field]: null });
          expect({ round, status, body }).toEqual({ round, status: 200, body: { updated: true } });
          expect((await of.read(id)).record).toEqual(of.recordOf(left, id));
        }
      },
    );

    it('sets one field and removes another in one update', async () => {
      const [field = ''] = optional;
      const id = await of.create();
      await patch(id, { title: 'Set', [field]: null });
      const { record } = await of.read(id);
      expect(record.title).toBe('Set');
      expect(record).not.toHaveProperty(field);
    });

    it('refuses null for the required title, and changes nothing', async () => {
      const { id, ...before } = await of.created();
      const required = fault('/title', 'is required and cannot be removed with null.');
      expectInvalid(await patch(id, { title: null }), of.at(id), required);
      expect(await of.read(id)).toEqual(before);
    });

    it.each(['_id', 'createdAt', 'updatedAt', '__v', 'unknown'])(
      'refuses the field "%s", which is not an input, even as null, and names it',
      async (field) => {
        const { id, ...before } = await of.created();
        for (const value of [NOBODY, null]) {
          const response = await patch(id, { title: 'Changed', [field]: value });
          expectInvalid(response, of.at(id), of.notInput(field));
        }
        expect(await of.read(id)).toEqual(before);
      },
    );

    it.each([{ title: 'Nobody' }, {}])(
      `answers 404 "${label} not found" if no record matches: %j`,
      async (body) => {
        expectNotFound(await patch(NOBODY, body), of.at(NOBODY), label);
        expect((await of.get()).body).toEqual([]);
      },
    );

    it('refuses an id that is not 24 hexadecimal digits', async () => {
      expectInvalidId(await patch('1', { title: 'One' }), of.at('1'));
    });

    it('needs a body', async () => {
      const id = await of.create();
      const response = await patch(id, undefined);
      expectInvalid(response, of.at(id), { pointer: '', detail: 'The body must be a JSON object.' });
    });
  });
}
