/** @mongodb */
import { Body, Injectable } from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import { Transform } from 'class-transformer';
import {
  CrudAction,
  CrudController,
  CrudModule,
  crudOptions,
  CrudService,
  getCrudServiceToken,
  patchOf,
  type UpdateValues,
} from '../../../src/common/crud/index.js';
import {
  IsIdentifier,
  IsReference,
  IsText,
  IsTextList,
  IsWholeNumber,
} from '../../../src/common/fields/index.js';
import { currentTenant, scopeOf, type TenantScope } from '../../../src/common/tenancy/index.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, tokenOf } from '../../support/tenants.js';

const cased = (how: 'toUpperCase' | 'toLowerCase') =>
  Transform(({ value }) => (typeof value === 'string' ? `${value[how]()}!` : (value as unknown)));

class PartInput {
  @IsText({ max: 40 }) name!: string;
}
class ScrewInput extends PartInput {
  @cased('toUpperCase') @IsText({ max: 9 }) size!: string;
}
class NailInput extends PartInput {
  @cased('toLowerCase') @IsText({ max: 9 }) size!: string;
}
class GlueInput extends PartInput {
  @IsReference(() => Part, { optional: true }) fixes?: string;
  @IsWholeNumber() volume!: number;
  @IsText({ max: 9 }) colour!: string;
  @IsTextList({ maxEntries: 3, entry: { max: 9 } }) uses!: string[];
}
@Schema({ timestamps: true })
class Part extends PartInput {
  kind!: string;
  @IsIdentifier() tenant!: string;
}
@Schema({ timestamps: true })
class Tool extends PartInput {
  kind!: string;
}
const tools = crudOptions({
  entity: Tool,
  input: PartInput,
  kinds: { screw: ScrewInput, glue: GlueInput },
  name: 'tools',
});

const edit = ({ record }: { record: Record<string, unknown> }) => {
  const { name } = record;
  if (name === 'strange') record.volume = 1;
  if (typeof name === 'string' && name.startsWith('no ')) Reflect.deleteProperty(record, name.slice(3));
};
const parts = crudOptions({
  entity: Part,
  input: PartInput,
  kinds: { screw: ScrewInput, nail: NailInput, glue: GlueInput },
  name: 'parts',
  isolationFields: { all: { tenant: currentTenant } },
  hooks: { beforeCreate: edit as never, beforeUpdate: edit as never },
  references: { fixes: { to: Part } },
  bulk: true,
});

@Injectable()
class PartsService extends CrudService.for(parts) {
  mark(scope: TenantScope, id: string, set: Record<string, unknown>) {
    return this.change('update', scope, id, { set });
  }
}
class Size {
  @IsText({ max: 9 }) size!: string;
}
class PartsController extends CrudController(parts) {
  @CrudAction(parts, {
    method: 'PUT',
    path: ':id/size',
    body: patchOf(PartInput),
    isolatedAs: 'update',
    response: Size,
  })
  resize(@Body() changes: Size) {
    return { ...changes };
  }
}

describe('a record of a kind', () => {
  const app = useResourceApp(
    CrudModule.forFeature(parts, { controller: PartsController, service: PartsService }),
    CrudModule.forFeature(tools),
  );
  const own = { token: '' };
  const scope = scopeOf({ tenant: ACME });
  const service = () => app.app.get<PartsService>(getCrudServiceToken(Part), { strict: false });
  beforeAll(async () => void (own.token = await tokenOf(ACME)));
  beforeEach(() => app.empty());

  const nail = { kind: 'nail', name: 'Nail', size: 'M4' };
  const glue = { kind: 'glue', name: 'Glue', volume: 5, colour: 'red', uses: [] };
  async function made(body: object): Promise<string> {
    const { status, body: created } = await app.post('/parts', body, own);
    expect(status).toBe(201);
    return created._id as string;
  }
  const sizeOf = async (id: string) => (await app.get(`/parts/${id}`, own)).body.size as string;

  it('has its changes read by the class of that kind, whatever the route', async () => {
    const id = await made(nail);
    const sizes = [await sizeOf(id)];
    await app.patch(`/parts/${id}`, { size: 'M5' }, own);
    sizes.push(await sizeOf(id));
    await app.post('/parts/bulk', { operations: [{ update: { _id: id, changes: { size: 'M6' } } }] }, own);
    sizes.push(await sizeOf(id));
    await service().update(scope, id, { size: 'M7' } as UpdateValues<Part, PartInput>);
    sizes.push(await sizeOf(id));
    const { body } = await app.request('PUT', `/parts/${id}/size`, { ...own, body: { size: 'M8' } });
    expect([...sizes, body.size]).toEqual(['m4!', 'm5!', 'm6!', 'm7!', 'm8!']);
  });

  it('gets no field of another kind from code', async () => {
    const [id, other] = [await made(nail), await made(glue)];
    await expect(service().mark(scope, id, { volume: 1 })).rejects.toThrow('Code sets "volume" of Part');
    const unchecked = { validate: false };
    const values = { volume: 1 } as object;
    await expect(service().update(scope, id, values as never, unchecked)).rejects.toThrow('of other kinds');
    await expect(service().create(scope, { ...nail, ...values }, unchecked)).rejects.toThrow(
      'of other kinds',
    );
    expect((await app.post('/parts', { ...nail, name: 'strange' }, own)).status).toBe(500);
    expect((await app.patch(`/parts/${id}`, { name: 'strange' }, own)).status).toBe(500);
    await service().mark(scope, other, { volume: 7 });
    expect((await app.get('/parts?sort=createdAt', own)).body).toMatchObject([
      { name: 'Nail', size: 'm4!' },
      { ...glue, volume: 7 },
    ]);
    expect(await app.database.collection('parts').countDocuments({ volume: 1 })).toBe(0);
  });

  it('may refer to one of another kind, and shows it as it is documented', async () => {
    const id = await made({ ...glue, fixes: await made(nail) });
    const { body } = await app.get(`/parts/${id}?expand=fixes`, own);
    expect(body).toMatchObject({ ...glue, fixes: { ...nail, size: 'm4!' } });
    expect((await app.get('/parts?expand=fixes', own)).body).toMatchObject([body, { kind: 'nail' }]);
  });

  it.each(['volume', 'colour', 'uses'])('is not made without its %s', async (field) => {
    const { status, body } = await app.post('/parts', { ...glue, name: `no ${field}` }, own);
    expect([status, body.errors]).toEqual([
      400,
      [{ pointer: `/${field}`, detail: `"${field}" is required.` }],
    ]);
    const { [field as 'volume']: _, ...rest } = glue;
    const withoutHooks = app.app.get<CrudService<Tool, object>>(getCrudServiceToken(Tool), { strict: false });
    for (const one of [service() as CrudService<Part, object>, withoutHooks])
      await expect(one.create(scope, rest, { validate: false })).rejects.toMatchObject({ status: 400 });
    expect(await app.database.collection('parts').countDocuments()).toBe(0);
  });
});
