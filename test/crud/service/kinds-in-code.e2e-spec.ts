import { Body, Injectable, type Type } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import type { OpenAPIObject } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import {
  conditionOf,
  CrudAction,
  CrudController,
  CrudModule,
  CrudService,
  patchOf,
  type CrudOptions,
} from '../../../src/common/crud/index.js';
import * as f from '../../../src/common/fields/index.js';
import { CurrentScope, hasRole, scopeOf, type TenantScope } from '../../../src/common/tenancy/index.js';
import { serviceIn, useResourceApp } from '../../support/resource-app.js';
import { type Made, OF_TENANT, resource } from '../../support/resource.js';
import { ACME, acme as token } from '../../support/tenants.js';

const cased = (how: 'toUpperCase' | 'toLowerCase') =>
  Transform(({ value }) => (typeof value === 'string' ? `${value[how]()}!` : (value as unknown)));

class PartInput {
  @f.IsText({ max: 40 }) name!: string;
}
class ScrewInput extends PartInput {
  @cased('toUpperCase') @f.IsText({ max: 9 }) size!: string;
  @f.IsOneOf(['wide', 'narrow']) form!: string;
  @Prop({ unique: true }) @f.IsText({ max: 40 }) serial!: string;
  @f.IsFlag({ default: false }) draft?: boolean;
  @f.IsText({ max: 9, optional: true }) code?: string;
}
class NailInput extends PartInput {
  @cased('toLowerCase') @f.IsText({ max: 9 }) size!: string;
  @f.IsOneOf(['left', 'right']) form!: string;
  @f.IsWholeNumber({ default: 3 }) rank?: number;
  @f.IsText({ max: 9, optional: true }) hint?: string;
}
class GlueInput extends PartInput {
  @f.IsReference((): Type<object> => parts.entity, { optional: true }) fixes?: string;
  @f.IsWholeNumber() volume!: number;
  @f.IsText({ max: 9 }) colour!: string;
  @f.IsListOf(f.IsText({ max: 9 }), { max: 3 }) uses!: string[];
}

const edit = ({ record }: { record: Made }) => {
  const name = String(record.name);
  if (name === 'strange') record.volume = 1;
  if (name.startsWith('no ')) Reflect.deleteProperty(record, name.slice(3));
};
const parts: CrudOptions<Made, Made> = resource({
  name: 'parts',
  fields: PartInput,
  kinds: { screw: ScrewInput, nail: NailInput, glue: GlueInput } as never,
  ...OF_TENANT,
  writeOnly: ['hint'],
  rules: { code: { write: hasRole('editor') } },
  hooks: { beforeCreate: edit, beforeUpdate: edit },
  bulk: true,
});
parts.references = { fixes: { to: parts.entity } };
const tools = resource({
  name: 'tools',
  fields: PartInput,
  kinds: { page: ScrewInput, glue: GlueInput } as never,
});

@Injectable()
class PartsService extends CrudService.for(parts) {
  mark(scope: TenantScope, id: string, set: Record<string, unknown>) {
    return this.change('update', scope, id, { set });
  }
}
class Size {
  @f.IsText({ max: 9 }) size!: string;
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
  @CrudAction(parts, { method: 'POST', path: 'screws', body: ScrewInput, isolatedAs: 'create' })
  screw(@CurrentScope() scope: TenantScope, @Body() input: ScrewInput) {
    return this.service.create(scope, { ...input, kind: 'screw' });
  }
  @CrudAction(parts, { method: 'PUT', path: 'first', body: PartInput, isolatedAs: 'create' })
  first(@CurrentScope() scope: TenantScope, @Body() input: Made) {
    return this.service.create(scope, input);
  }
}

const ofParts = { controller: PartsController, service: PartsService };
const app = useResourceApp(CrudModule.forFeature(parts, ofParts), tools);
let service: PartsService;
beforeAll(() => void (service = serviceIn(app, parts.entity)));
beforeEach(() => app.empty());

const scope = scopeOf({ tenant: ACME });
const screw = { kind: 'screw', name: 'Screw', size: 'M4', form: 'wide', serial: 'a' };
const nail = { kind: 'nail', name: 'Nail', size: 'M4', form: 'left' };
/** The nail as it is read. */
const nailed = { ...nail, size: 'm4!' };
const glue = { kind: 'glue', name: 'Glue', volume: 5, colour: 'red', uses: [] };
const create = (body: object) => app.create('/parts', body, token);
const change = (id: string, body: object) => app.patch(`/parts/${id}`, body, { token });
const read = async (id: string) => (await app.get(`/parts/${id}`, { token })).body as Made;
const stored = (filter = {}) => app.database.collection('parts').countDocuments(filter);

describe('a record of a kind', () => {
  it('has its changes read by the class of that kind, whatever the route', async () => {
    const _id = await create(nail);
    expect((await read(_id)).size).toBe('m4!');
    await change(_id, { size: 'M5' });
    expect((await read(_id)).size).toBe('m5!');
    await app.post('/parts/bulk', { operations: [{ update: { _id, changes: { size: 'M6' } } }] }, { token });
    expect((await read(_id)).size).toBe('m6!');
    await service.update(scope, _id, { size: 'M7' });
    expect((await read(_id)).size).toBe('m7!');
    const { body } = await app.request('PUT', `/parts/${_id}/size`, { token, body: { size: 'M8' } });
    expect(body.size).toBe('m8!');
  });

  it('gets no field of another kind from code', async () => {
    const [id, other] = [await create(nail), await create(glue)];
    await expect(service.mark(scope, id, { volume: 1 })).rejects.toThrow('Code sets "volume" of Part');
    const [unchecked, volume] = [{ validate: false }, 1];
    await expect(service.update(scope, id, { volume }, unchecked)).rejects.toThrow('of other kinds');
    await expect(service.create(scope, { ...nail, volume }, unchecked)).rejects.toThrow('of other kinds');
    expect((await app.post('/parts', { ...nail, name: 'strange' }, { token })).status).toBe(500);
    expect((await change(id, { name: 'strange' })).status).toBe(500);
    await service.mark(scope, other, { volume: 7 });
    expect([await read(id), await read(other)]).toMatchObject([nailed, { ...glue, volume: 7 }]);
    expect(await stored({ volume: 1 })).toBe(0);
  });

  it('may refer to one of another kind, and shows it as it is documented', async () => {
    const id = await create({ ...glue, fixes: await create(nail) });
    const one = await read(`${id}?expand=fixes`);
    expect(one).toMatchObject({ ...glue, fixes: nailed });
    expect((await app.get('/parts?expand=fixes', { token })).body).toMatchObject([one, { kind: 'nail' }]);
  });

  it.each(['volume', 'colour', 'uses'])('is not made without its %s', async (field) => {
    const { status, body } = await app.post('/parts', { ...glue, name: `no ${field}` }, { token });
    const errors = [{ pointer: `/${field}`, detail: `"${field}" is required.` }];
    expect([status, body.errors]).toEqual([400, errors]);
    const { [field as 'volume']: _, ...rest } = glue;
    const withoutHooks = serviceIn(app, tools.entity);
    for (const one of [service, withoutHooks])
      await expect(one.create(scope, rest, { validate: false })).rejects.toMatchObject({ status: 400 });
    expect(await stored()).toBe(0);
  });
});

describe('a field of one kind', () => {
  it('has its default in records of that kind alone', async () => {
    const [one, other] = [await create(screw), await create({ ...nail, rank: 5 })];
    expect(await read(one)).toMatchObject({ ...screw, size: 'M4!', draft: false });
    expect(await read(one)).not.toHaveProperty('rank');
    expect(await read(other)).not.toHaveProperty('draft');
    expect((await change(other, { rank: null })).status).toBe(200);
    expect(await read(other)).toMatchObject({ ...nailed, rank: 3 });
    // As those from before the field was added.
    await app.database.collection('parts').updateMany({}, { $unset: { draft: 1, rank: 1 } });
    expect(await read(one)).toMatchObject({ draft: false });
    expect(await read(other)).toMatchObject({ rank: 3 });
    expect(await read(one)).not.toHaveProperty('rank');
  });

  it('is unique among the records of that kind alone', async () => {
    await create(screw);
    expect((await app.post('/parts', screw, { token })).status).toBe(409);
    await create(nail);
    await create(nail);
  });

  it('is not removed by a hook if that kind requires it, and not stored if it is for writing only', async () => {
    const id = await create({ ...nail, hint: 'x' });
    const { status } = await change(id, { name: 'no form' });
    expect([status, await read(id)]).toMatchObject([400, nailed]);
    expect(await stored({ hint: { $exists: true } })).toBe(0);
    expect(await read(id)).not.toHaveProperty('hint');
  });

  it('is guarded in routes of your own, too', async () => {
    const { kind: _, ...input } = screw;
    expect((await app.post('/parts/screws', { ...input, code: 'x' }, { token })).status).toBe(403);
    const made = await app.post('/parts/screws', input, { token });
    expect(made.body).toMatchObject({ ...screw, size: 'M4!!' });
    const first = await app.request('PUT', '/parts/first', { token, body: nail });
    expect(first.body).toMatchObject(nailed);
  });

  it('can be in a condition', () => {
    expect(conditionOf(parts, 'serial', 'eq', 'a')).toMatchObject({ values: ['a'] });
    expect(conditionOf(parts, 'kind', 'in', ['screw'])).toMatchObject({ values: ['screw'] });
    expect(conditionOf(parts, 'kind', 'nin', ['nut'])).toMatchObject({ values: ['nut'] });
    expect(() => conditionOf(parts, 'serial', 'eq', undefined)).toThrow('the value is undefined');
  });
});

it('a kind has no schema with the name of another', async () => {
  const { components } = (await app.get('/docs/openapi.json')).body as OpenAPIObject;
  const { ToolPage, ToolPageKind } = components?.schemas as Record<string, { properties: object }>;
  expect([ToolPage?.properties, ToolPageKind?.properties]).toMatchObject([{ results: {} }, { serial: {} }]);
});

it.each([
  ['a class', PartInput],
  ['a function', (record: object) => record],
])('kinds need not be shown by an output that is %s', (_case, output) => {
  expect(() => CrudModule.forFeature({ ...parts, output } as never)).not.toThrow();
});
