import type { CrudContract } from '../crud-contract.js';
import { expectInvalid } from '../problems.js';
import { create, read, recordOf, writer } from './records.js';

export function describeFields(contract: CrudContract): void {
  const { app, path, valid, invalid, full } = contract;

  describe(`fields of ${path}`, () => {
    it.each(valid)('a create takes $name', async ({ body, stored = body }) => {
      const sent = { title: 'A title', ...body };
      const id = await create(contract, sent);
      expect((await read(contract, id)).record).toEqual(
        recordOf(contract, { title: 'A title', ...stored }, id),
      );
    });

    it.each(valid)('an update takes $name', async ({ body, stored = body }) => {
      const id = await create(contract, full);
      const response = await app().patch(`${path}/${id}`, body, writer(contract));
      expect(response.body).toEqual({ updated: true });
      expect((await read(contract, id)).record).toEqual(recordOf(contract, { ...full, ...stored }, id));
    });

    it.each(invalid)('a create refuses $name', async ({ body, errors, createOnly }) => {
      const sent = createOnly ? body : { title: 'A title', ...body };
      expectInvalid(await app().post(path, sent, writer(contract)), path, ...errors);
      expect((await app().get(path)).body).toEqual([]);
    });

    it.each(invalid.filter(({ createOnly }) => !createOnly))(
      'an update refuses $name',
      async ({ body, errors }) => {
        const id = await create(contract, full);
        const before = await read(contract, id);
        expectInvalid(await app().patch(`${path}/${id}`, body, writer(contract)), `${path}/${id}`, ...errors);
        expect(await read(contract, id)).toEqual(before);
      },
    );
  });
}
