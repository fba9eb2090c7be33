import { expectInvalid } from '../problems.js';
import { type CrudClient, expectUpdated } from './records.js';

export function describeFields({ path, valid, invalid, full, ...of }: CrudClient): void {
  describe(`fields of ${path}`, () => {
    it.each(valid)('a create takes $name', async ({ body, stored = body }) => {
      const id = await of.create({ title: 'A title', ...body });
      expect((await of.read(id)).record).toEqual(of.recordOf({ title: 'A title', ...stored }, id));
    });

    it.each(valid)('an update takes $name', async ({ body, stored = body }) => {
      const id = await of.create();
      expectUpdated(await of.patch(id, body));
      expect((await of.read(id)).record).toEqual(of.recordOf({ ...full, ...stored }, id));
    });

    it.each(invalid)('a create refuses $name', async ({ body, errors, createOnly }) => {
      const sent = createOnly ? body : { title: 'A title', ...body };
      expectInvalid(await of.post(sent), path, ...errors);
      expect((await of.get()).body).toEqual([]);
    });

    const ofUpdates = invalid.filter(({ createOnly }) => !createOnly);
    it.each(ofUpdates)('an update refuses $name', async ({ body, errors }) => {
      const { id, ...before } = await of.created();
      expectInvalid(await of.patch(id, body), of.at(id), ...errors);
      expect(await of.read(id)).toEqual(before);
    });
  });
}
