/** @mongodb */
import { Delete, Param } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import {
  CrudController,
  CrudModule,
  crudOptions,
  type CrudService,
  getCrudServiceToken,
} from '../../../src/common/crud/index.js';
import { InvalidIdError } from '../../../src/common/errors/index.js';
import { IsIdentifier, IsText } from '../../../src/common/fields/index.js';
import { CurrentScope, currentTenant, scopeOf, type TenantScope } from '../../../src/common/tenancy/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, tokenOf } from '../../support/tenants.js';

class NoteInput {
  @IsText({ min: 1, max: 100 }) text!: string;
}

@Schema({ timestamps: true })
class Note extends NoteInput {
  @IsIdentifier() tenant!: string;
}

const notes = crudOptions({
  entity: Note,
  input: NoteInput,
  name: 'notes',
  isolationFields: { all: { tenant: currentTenant } },
});

class NotesController extends CrudController(notes) {
  @Delete(':id/purge')
  purge(@CurrentScope() scope: TenantScope, @Param('noteId') misspelt: string) {
    return this.service.del(scope, misspelt);
  }
}

describe('a verb of a service for a single record', () => {
  let service: CrudService<Note, NoteInput>;
  const scope = scopeOf({ tenant: ACME });
  const app = useResourceApp(CrudModule.forFeature(notes, { controller: NotesController }));
  beforeAll(async () => {
    service = app.app.get(getCrudServiceToken(Note), { strict: false });
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
    const headers = { Authorization: `Bearer ${await tokenOf(ACME)}` };
    const { status } = await fetch(path, { method: 'DELETE', headers });
    expect(status).toBe(400);
    expect(await service.count(scope)).toBe(1);
  });
});
