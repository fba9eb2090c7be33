import { Injectable } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { type Changes, CrudController, CrudModule, CrudService } from '../../src/common/crud/index.js';
import {
  claim,
  currentTenant,
  routeParam,
  scopeOf,
  type TenantScope,
  unrestrictedScope,
} from '../../src/common/tenancy/index.js';
import { requestsOf } from '../support/requests-of.js';
import { below, type Made, resource } from '../support/resource.js';
import { serviceIn, useResourceApp } from '../support/resource-app.js';
import { ACME, acme, GLOBEX, tokenOf } from '../support/tenants.js';

const ofTenant = { tenant: currentTenant };
const owner = { owner: claim('sub') };
const tenant = Prop({ type: Types.ObjectId, required: true });
/** Of a tenant to read, and of a person to write. */
const tasksOf = (name: string, hooks = {}) =>
  resource({
    name,
    kept: { tenant, owner: Prop({ type: String }) },
    isolationFields: { all: ofTenant, create: owner, update: owner },
    hooks,
  });
const tasks = tasksOf('tasks');
const errands = resource({
  name: 'errands',
  kept: { owner: Prop({ type: String }) },
  isolationFields: { all: owner, update: { owner: claim('boss') } },
});
const topics = resource({ name: 'topics', kept: { tenant }, isolationFields: { all: ofTenant } });
const replies = below(topics, { name: 'replies', kept: { tenant }, isolationFields: { all: ofTenant } });

/** Every task, without what changes from run to run. */
const stored = async (name = 'tasks') =>
  (await app.database.collection(name).find().sort({ _id: 1 }).toArray()).map(
    ({ text, tenant, owner }): unknown => ({ text, tenant: String(tenant), owner }),
  );
const MINE = { text: 'mine', tenant: ACME, owner: 'ann' };

/** The options of a resource with code that moves every record it writes to another tenant. */
const serviceMoved = tasksOf('service-moved');
@Injectable()
class MovingService extends CrudService.for(serviceMoved) {
  override create(scope: TenantScope, input: Made) {
    return super.create(scope, { ...input, tenant: GLOBEX, owner: 'eve' });
  }

  override update(scope: TenantScope, id: string, changes: Changes<Made>) {
    return super.update(scope, id, { ...changes, tenant: GLOBEX });
  }
}

/** A resource whose controller changes the checked body of an update. */
const controlled = (name: string, change: (changes: Changes<Made>) => Changes<Made>) => {
  const options = tasksOf(name);
  class ChangingController extends CrudController(options) {
    override update(scope: TenantScope, id: string, changes: Changes<Made>) {
      return super.update(scope, id, change(changes));
    }
  }
  return CrudModule.forFeature(options, { controller: ChangingController });
};
type Draft = { record: Made };
const app = useResourceApp(
  ...[tasks, errands, topics, replies],
  CrudModule.forFeature(serviceMoved, { service: MovingService }),
  controlled('controller-changed', (changes) => Object.assign(changes, { owner: 'eve' })),
  controlled('controller-removed', (changes) => ({ ...changes, owner: null })),
  tasksOf('update-moved', { beforeUpdate: ({ record }: Draft) => void (record.tenant = GLOBEX) }),
  tasksOf('update-removed', { beforeUpdate: ({ record }: Draft) => void delete record.tenant }),
  tasksOf('create-moved', { beforeCreate: ({ record }: Draft) => void (record.tenant = GLOBEX) }),
);
beforeEach(() => app.empty());
const caller = (sub: unknown, of: unknown = ACME) => requestsOf(app, tokenOf(of, { sub }));
const ofAcme = requestsOf(app, acme);

describe('two isolation fields: one for all actions, and one for some', () => {
  const [ann, bob, eve] = [caller('ann'), caller('bob'), caller('ann', GLOBEX)];
  const create = async () => `/tasks/${await ann.create('/tasks', { text: 'mine' })}`;

  it('scope each action by its own fields', async () => {
    const path = await create();
    expect(await stored()).toEqual([MINE]);
    const statuses = (method: string, body?: object) =>
      Promise.all([bob, eve].map((one) => one.status(method, path, body)));
    expect(await statuses('GET')).toEqual([200, 404]);
    expect(await statuses('PATCH', { text: 'new' })).toEqual([404, 404]);
    expect(await stored()).toEqual([MINE]);
    expect(await ann.status('GET', path)).toBe(200);
    expect(await ann.status('PATCH', path, { text: 'new' })).toBe(200);
    expect([await eve.status('DELETE', path), await bob.status('DELETE', path)]).toEqual([404, 200]);
  });

  it('may be one field, whose source of an action takes the place of that of all', async () => {
    const boss = requestsOf(app, tokenOf(ACME, { sub: 'bob', boss: 'ann' }));
    const path = `/errands/${await ann.create('/errands', { text: 'mine' })}`;
    expect([await ann.status('GET', path), await boss.status('GET', path)]).toEqual([200, 404]);
    const { status, headers } = await boss.send('PATCH', path, { text: 'new' });
    // No tag for a caller who may not read the record.
    expect([status, headers.get('etag')]).toEqual([200, null]);
    const refused = await ann.send('PATCH', path, { text: 'new' });
    expect([refused.status, refused.headers.get('etag')]).toEqual([403, null]);
  });

  const detail = 'The token must carry the claim "sub", with a value of the right type.';
  it.each([
    ['the owner', tokenOf(ACME), { status: 403, code: 'CLAIM_REQUIRED', detail }, 200],
    ['the tenant', tokenOf(undefined, { sub: 'ann' }), { status: 403, code: 'TENANT_REQUIRED' }, 403],
    ['everything', undefined, { status: 401, code: 'UNAUTHENTICATED' }, 401],
  ])('refuse a token that lacks %s, and write nothing', async (_what, token, problem, ofRead) => {
    expect((await app.post('/tasks', { text: 'x' }, { token })).body).toMatchObject(problem);
    // Reads do not ask for an owner.
    expect((await app.get('/tasks', { token })).status).toBe(ofRead);
    expect(await stored()).toEqual([]);
  });

  it.each([[{ $ne: null }], [['ann', 'bob']], [null], ['']])('take no claim that is %j', async (sub) => {
    const { body } = await caller(sub).send('PATCH', await create(), { text: 'new' });
    expect(body.code).toBe('CLAIM_REQUIRED');
    expect(await stored()).toEqual([MINE]);
  });

  it('are required by every verb in code, which accepts nothing else as a scope', async () => {
    await create();
    const service = serviceIn(app, tasks.entity);
    const missing = (field: string) =>
      new Error(`The scope has no "${field}", which isolates this action. Write scopeOf({ ${field} }).`);
    const noScope = new Error(
      'The first argument must be a scope: take it with @CurrentScope(), or make one with scopeOf({ tenant }).',
    );
    for (const value of [{}, { tenant: undefined }, { tenant: null }])
      await expect(service.count(scopeOf(value))).rejects.toThrow(missing('tenant'));
    const ofOneField = service.create(scopeOf({ tenant: ACME }), { text: 'x' });
    await expect(ofOneField).rejects.toThrow(missing('owner'));
    const literals = [undefined, null, {}, { tenant: ACME }, { ...scopeOf({ tenant: ACME }) }, ACME];
    for (const literal of literals as unknown as TenantScope[]) {
      await expect(service.count(literal)).rejects.toThrow(noScope);
      await expect(service.list(literal).next()).rejects.toThrow(noScope);
      await expect(service.create(literal, { text: 'x' })).rejects.toThrow(noScope);
      await expect(service.update(literal, ACME, { text: 'x' })).rejects.toThrow(noScope);
      await expect(service.del(literal, ACME)).rejects.toThrow(noScope);
    }
    const copied = Object.create(scopeOf({ tenant: ACME })) as TenantScope;
    await expect(service.count(copied)).rejects.toThrow(TypeError);
    await expect(service.count(scopeOf({ tenant: { $ne: null } }))).rejects.toThrow('The token must carry');
    const scopes = [scopeOf({ tenant: ACME }), scopeOf({ tenant: GLOBEX }), unrestrictedScope()];
    expect(await Promise.all(scopes.map((scope) => service.count(scope)))).toEqual([1, 0, 1]);
    expect(await stored()).toEqual([MINE]);
  });
});

it("a parent's parameter is an isolation field: no body names it", async () => {
  const create = () => ofAcme.create('/topics', { text: 'x' });
  const [one, other] = [await create(), await create()];
  const path = `/topics/${one}/replies`;
  const { status, body } = await ofAcme.send('POST', path, { text: 'r', topic: other });
  expect([status, body.errors[0].pointer]).toEqual([400, '/topic']);
  const id = await ofAcme.create(path, { text: 'r' });
  expect(await ofAcme.get(`${path}/${id}`)).toMatchObject({ text: 'r', topic: one, tenant: ACME });
  expect(await ofAcme.get(`/topics/${other}/replies`)).toEqual([]);
  expect(await ofAcme.status('GET', `/topics/${other}/replies/${id}`)).toBe(404);
  expect((await ofAcme.send('POST', '/topics/x/replies', { text: 'r' })).body.code).toBe('INVALID_ID');
});

it.each([
  ['a service', 'service-moved', 201],
  ['a controller that changes the checked body', 'controller-changed', 201],
  ['a removal in a controller', 'controller-removed', 201],
  ['beforeUpdate', 'update-moved', 201],
  ['beforeUpdate that removes it', 'update-removed', 201],
  ['beforeCreate', 'create-moved', 500],
] as const)('%s that tries to change the isolation field moves no record', async (_by, name, created) => {
  const ann = caller('ann');
  const { status, body } = await ann.send('POST', `/${name}`, { text: 'mine' });
  expect(status).toBe(created);
  expect(await stored(name)).toEqual(created === 201 ? [MINE] : []);
  if (created !== 201) return;
  const response = await ann.send('PATCH', `/${name}/${body._id}`, { text: 'new' });
  expect([response.status, response.body.code]).toEqual([500, 'INTERNAL_ERROR']);
  expect(response.text).not.toMatch(/tenant|owner/);
  expect(await stored(name)).toEqual([MINE]);
});

it('sources of one claim or parameter are one source, wherever they are written', () => {
  expect(claim('sub')).toBe(claim('sub'));
  expect(claim('sub')).not.toBe(claim('email'));
  expect(routeParam('sub')).toBe(routeParam('sub'));
  expect(routeParam('sub')).not.toBe(claim('sub'));
});
