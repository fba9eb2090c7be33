import { Delete, Param } from '@nestjs/common';
import {
  CrudController,
  CrudModule,
  type CrudService,
  getCrudServiceToken,
} from '../../../src/common/crud/index.js';
import { InvalidIdError } from '../../../src/common/errors/index.js';
import { IsIdentifier } from '../../../src/common/fields/index.js';
import { CurrentScope, currentTenant, scopeOf, type TenantScope } from '../../../src/common/tenancy/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, acme } from '../../support/tenants.js';
import { resource, type Made } from '../../support/resource.js';

const notes = resource({
  name: 'notes',
  kept: { tenant: IsIdentifier() },
  isolationFields: { all: { tenant: currentTenant } },
});

class NotesController extends CrudController(notes) {
  @Delete(':id/purge')
  purge(@CurrentScope() scope: TenantScope, @Param('noteId') misspelt: string) {
    return this.service.del(scope, misspelt);
  }
}

describe('a verb of a service for a single record', () => {
  let service: CrudService<Made, Made>;
  const scope = scopeOf({ tenant: ACME });
  const app = useResourceApp(CrudModule.forFeature(notes, { controller: NotesController }));
  beforeAll(async () => {
    service = app.app.get(getCrudServiceToken(notes.entity), { strict: false });
  });
  beforeEach(() => app.empty());

  it.each([[undefined], [null], [''], [5], ['1'], [{ $ne: null }], [[ACME]], [{ _bsontype: 'ObjectId' }]])(
    'refuses the id %j, and touches none',
    async (id) => {
      await service.create(scope, { text: 'Buy stamps' });
      const wrong = id as unknown as string;
      await expect(service.get(scope, wrong)).rejects.toThrow(InvalidIdError);
      await expect(service.update(scope, wrong, { text: 'Sell' })).rejects.toThrow(InvalidIdError);
      await expect(service.del(scope, wrong)).rejects.toThrow(InvalidIdError);
      expect(await app.database.collection('notes').distinct('text')).toEqual(['Buy stamps']);
    },
  );

  it('deletes no other record for a handler that misspells its parameter', async () => {
    const { _id } = await service.create(scope, { text: 'Buy stamps' });
    const path = `${app.url}/notes/${_id.toHexString()}/purge`;
    const headers = { Authorization: `Bearer ${acme}` };
    const { status } = await fetch(path, { method: 'DELETE', headers });
    expect(status).toBe(400);
    expect(await service.count(scope)).toBe(1);
  });
});
