/** @mongodb */
import { Injectable } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import {
  type Changes,
  CrudController,
  CrudModule,
  crudOptions,
  CrudService,
  getCrudServiceToken,
} from '../../src/common/crud/index.js';
import { IsText } from '../../src/common/fields/index.js';
import {
  claim,
  currentTenant,
  routeParam,
  scopeOf,
  type TenantScope,
  unrestrictedScope,
} from '../../src/common/tenancy/index.js';
import { useResourceApp } from '../support/resource-app.js';
import { ACME, acme, GLOBEX, globex, tokenOf } from '../support/tenants.js';
import type { TestApp } from '../support/test-app.js';

class TaskInput {
  @IsText({ max: 80 }) text!: string;
}

@Schema({ timestamps: true })
class Task extends TaskInput {
  @Prop({ type: Types.ObjectId, required: true }) tenant!: Types.ObjectId;
  @Prop({ type: String }) owner?: string;
}

const tenant = { tenant: currentTenant };
const tasks = crudOptions({
  entity: Task,
  input: TaskInput,
  name: 'tasks',
  isolationFields: { all: tenant, create: { owner: claim('sub') }, update: { owner: claim('sub') } },
});

/** Every record, without what changes from run to run. */
const stored = async (app: TestApp, name: string) =>
  (await app.database.collection(name).find().sort({ _id: 1 }).toArray()).map(({ text, tenant, owner }) => ({
    text: text as string,
    tenant: String(tenant),
    ...(owner !== undefined && { owner: owner as string }),
  }));

describe('two isolation fields: one for all actions, and one for some', () => {
  const app = useResourceApp(CrudModule.forFeature(tasks));
  const ann = tokenOf(ACME, { sub: 'ann' });
  const bob = tokenOf(ACME, { sub: 'bob' });
  const eve = tokenOf(GLOBEX, { sub: 'ann' });
  beforeEach(() => app.empty());

  const create = async (token: string) =>
    (await app.post('/tasks', { text: 'mine' }, { token })).body._id as string;

  it('scope each action by its own fields', async () => {
    const id = await create(ann);
    expect(await stored(app, 'tasks')).toEqual([{ text: 'mine', tenant: ACME, owner: 'ann' }]);
    const patch = async (token: string) =>
      (await app.patch(`/tasks/${id}`, { text: 'new' }, { token })).status;
    const get = async (token: string) => (await app.get(`/tasks/${id}`, { token })).status;
    expect([await get(ann), await get(bob), await get(eve)]).toEqual([200, 200, 404]);
    expect([await patch(bob), await patch(eve)]).toEqual([404, 404]);
    expect(await stored(app, 'tasks')).toEqual([{ text: 'mine', tenant: ACME, owner: 'ann' }]);
    expect(await patch(ann)).toBe(200);
    expect((await app.del(`/tasks/${id}`, { token: eve })).status).toBe(404);
    expect((await app.del(`/tasks/${id}`, { token: bob })).status).toBe(200);
  });

  it('refuse a token that lacks either, and write nothing', async () => {
    const noOwner = tokenOf(ACME);
    const noTenant = tokenOf(undefined, { sub: 'ann' });
    const refused = await app.post('/tasks', { text: 'x' }, { token: noOwner });
    expect([refused.status, refused.body.code, refused.body.detail]).toEqual([
      403,
      'CLAIM_REQUIRED',
      'The token must carry the claim "sub", with a value of the right type.',
    ]);
    expect((await app.post('/tasks', { text: 'x' }, { token: noTenant })).body.code).toBe('TENANT_REQUIRED');
    expect((await app.post('/tasks', { text: 'x' })).body.code).toBe('UNAUTHENTICATED');
    expect((await app.get('/tasks', { token: noOwner })).status).toBe(200);
    expect(await stored(app, 'tasks')).toEqual([]);
  });

  it.each([
    ['an operator', { $ne: null }],
    ['a list', ['ann', 'bob']],
    ['null', null],
    ['nothing', ''],
  ])('take no claim that is %s', async (_kind, sub) => {
    const id = await create(ann);
    const token = tokenOf(ACME, { sub });
    expect((await app.patch(`/tasks/${id}`, { text: 'new' }, { token })).body.code).toBe('CLAIM_REQUIRED');
    expect(await stored(app, 'tasks')).toEqual([{ text: 'mine', tenant: ACME, owner: 'ann' }]);
  });

  it('are required by every verb in code, which accepts nothing else as a scope', async () => {
    await create(ann);
    const service = app.app.get<CrudService<Task, TaskInput>>(getCrudServiceToken(Task), { strict: false });
    const missing = 'The scope has no "tenant", which isolates this action. Write scopeOf({ tenant }).';
    const noScope =
      'The first argument must be a scope: take it with @CurrentScope(), or make one with scopeOf({ tenant }).';
    for (const value of [{}, { tenant: undefined }, { tenant: null }]) {
      await expect(service.count(scopeOf(value))).rejects.toThrow(new Error(missing));
    }
    await expect(service.create(scopeOf({ tenant: ACME }), { text: 'x' })).rejects.toThrow(
      new Error('The scope has no "owner", which isolates this action. Write scopeOf({ owner }).'),
    );
    const literals = [undefined, null, {}, { tenant: ACME }, { ...scopeOf({ tenant: ACME }) }, ACME];
    for (const literal of literals as unknown as TenantScope[]) {
      await expect(service.count(literal)).rejects.toThrow(new Error(noScope));
      await expect(service.list(literal).next()).rejects.toThrow(new Error(noScope));
      await expect(service.create(literal, { text: 'x' })).rejects.toThrow(new Error(noScope));
      await expect(service.update(literal, ACME, { text: 'x' })).rejects.toThrow(new Error(noScope));
      await expect(service.del(literal, ACME)).rejects.toThrow(new Error(noScope));
    }
    const copied = Object.create(scopeOf({ tenant: ACME })) as TenantScope;
    await expect(service.count(copied)).rejects.toThrow(TypeError);
    await expect(service.count(scopeOf({ tenant: { $ne: null } }))).rejects.toThrow('The token must carry');
    expect(await service.count(scopeOf({ tenant: ACME }))).toBe(1);
    expect(await service.count(scopeOf({ tenant: GLOBEX }))).toBe(0);
    expect(await service.count(unrestrictedScope())).toBe(1);
    expect(await stored(app, 'tasks')).toEqual([{ text: 'mine', tenant: ACME, owner: 'ann' }]);
  });
});

@Schema({ timestamps: true })
class Reply extends TaskInput {
  @Prop({ type: Types.ObjectId, required: true }) task!: Types.ObjectId;
  @Prop({ type: Types.ObjectId, required: true }) tenant!: Types.ObjectId;
}

describe("a parent's parameter is an isolation field like the others", () => {
  const ofTenant = { isolationFields: { all: tenant } };
  const replies = crudOptions({
    ...ofTenant,
    entity: Reply,
    input: TaskInput,
    name: 'replies',
    path: 'tasks/:taskId/replies',
    parent: { entity: Task, param: 'taskId', field: 'task' },
  });
  const app = useResourceApp(
    CrudModule.forFeature({ ...tasks, ...ofTenant }),
    CrudModule.forFeature(replies),
  );

  it('hides the replies of other parents and of other tenants', async () => {
    const task = async (token: string) =>
      (await app.post('/tasks', { text: 'x' }, { token })).body._id as string;
    const [one, other, foreign] = [await task(acme), await task(acme), await task(globex)];
    const { body } = await app.post(`/tasks/${one}/replies`, { text: 'r' }, { token: acme });
    const at = (parent: string) => `/tasks/${parent}/replies/${body._id}`;
    const shown = (await app.get(at(one), { token: acme })).body as object;
    expect(shown).toMatchObject({ text: 'r', task: one, tenant: ACME });
    for (const [parent, token] of [
      [other, acme],
      [foreign, acme],
      [one, globex],
      [foreign, globex],
    ] as const) {
      expect((await app.get(at(parent), { token })).status).toBe(404);
      expect((await app.patch(at(parent), { text: 'n' }, { token })).status).toBe(404);
      expect((await app.del(at(parent), { token })).status).toBe(404);
    }
    expect((await app.get(`/tasks/${other}/replies`, { token: acme })).body).toEqual([]);
    for (const path of ['', '?limit=1', '/count']) {
      expect((await app.get(`/tasks/${one}/replies${path}`, { token: globex })).status).toBe(404);
      expect((await app.get(`/tasks/${one}/replies${path}`)).status).toBe(401);
    }
    expect((await app.post(`/tasks/${one}/replies`, { text: 'r' }, { token: globex })).status).toBe(404);
    expect((await app.post('/tasks/x/replies', { text: 'r' }, { token: acme })).body.code).toBe('INVALID_ID');
    const inBody = await app.post(`/tasks/${one}/replies`, { text: 'r', task: other }, { token: acme });
    expect([inBody.status, inBody.body.errors[0].pointer]).toEqual([400, '/task']);
    expect(await app.database.collection('replies').countDocuments()).toBe(1);
  });
});

/** Code of a feature that moves every record it writes to another tenant. */
@Injectable()
class MovingService extends CrudService.for(tasks) {
  override create(scope: TenantScope, input: TaskInput) {
    return super.create(scope, { ...input, tenant: GLOBEX, owner: 'eve' } as TaskInput);
  }

  override update(scope: TenantScope, id: string, changes: Changes<TaskInput>) {
    return super.update(scope, id, { ...changes, tenant: GLOBEX } as Changes<TaskInput>);
  }
}

class MovingController extends CrudController(tasks) {
  override update(scope: TenantScope, id: string, changes: Changes<TaskInput>) {
    return super.update(scope, id, Object.assign(changes, { owner: 'eve' }));
  }
}

const moved = { tenant: GLOBEX };

describe.each([
  ['a service', CrudModule.forFeature(tasks, { service: MovingService }), 201],
  [
    'a controller that changes the checked body',
    CrudModule.forFeature(tasks, { controller: MovingController }),
    201,
  ],
  ['a removal in a controller', CrudModule.forFeature(tasks, { controller: removing() }), 201],
  ['beforeUpdate', hooked({ beforeUpdate: ({ record }) => void Object.assign(record, moved) }), 201],
  [
    'beforeUpdate that removes it',
    hooked({ beforeUpdate: ({ record }) => void Reflect.deleteProperty(record, 'tenant') }),
    201,
  ],
  ['beforeCreate', hooked({ beforeCreate: ({ record }) => void Object.assign(record, moved) }), 500],
] as const)('%s that tries to change the isolation field', (_by, feature, created) => {
  const app = useResourceApp(feature);

  it('moves no record', async () => {
    const token = tokenOf(ACME, { sub: 'ann' });
    const { status, body } = await app.post('/tasks', { text: 'old' }, { token });
    expect(status).toBe(created);
    const record = { text: 'old', tenant: ACME, owner: 'ann' };
    expect(await stored(app, 'tasks')).toEqual(created === 201 ? [record] : []);
    if (created !== 201) return;
    const response = await app.patch(`/tasks/${body._id}`, { text: 'new' }, { token });
    expect([response.status, response.body.code]).toEqual([500, 'INTERNAL_ERROR']);
    expect(response.text).not.toMatch(/tenant|owner/);
    expect(await stored(app, 'tasks')).toEqual([record]);
  });
});

function removing() {
  return class RemovingController extends CrudController(tasks) {
    override update(scope: TenantScope, id: string, changes: Changes<TaskInput>) {
      return super.update(scope, id, { ...changes, owner: null } as Changes<TaskInput>);
    }
  };
}

function hooked(hooks: NonNullable<typeof tasks.hooks>) {
  return CrudModule.forFeature({ ...tasks, hooks });
}

describe('sources', () => {
  it('of one claim or parameter are one source, wherever they are written', () => {
    expect(claim('sub')).toBe(claim('sub'));
    expect(claim('sub')).not.toBe(claim('email'));
    expect(routeParam('sub')).toBe(routeParam('sub'));
    expect(routeParam('sub')).not.toBe(claim('sub'));
  });
});
