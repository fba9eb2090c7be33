/** @mongodb */
import type { Type } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { Crud, type CrudOptions, type CrudStore } from '../../../src/common/crud/index.js';
import { IsListOf, IsReference, IsText } from '../../../src/common/fields/index.js';
import { claim, scopeOf, unrestrictedScope } from '../../../src/common/tenancy/index.js';
import { serviceIn, useResourceApp } from '../../support/resource-app.js';
import { below, feature, type Made, OF_TENANT, type Outline, resource } from '../../support/resource.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';

const [ada, bob] = [tokenOf(ACME, { sub: 'ada' }), tokenOf(ACME, { sub: 'bob' })];
const eve = tokenOf(GLOBEX, { sub: 'eve' });

const { kept, isolationFields } = OF_TENANT;
const tenant = isolationFields.all;
/** Everybody's to read, and each tenant's to write. */
const shown = { create: tenant, update: tenant, del: tenant };
const owner = { owner: claim('sub') };
const personal = { kept: { owner: Prop({ type: String }) }, isolationFields: { all: owner } };

const nodes: CrudOptions<Made, Made> = resource({
  name: 'nodes',
  class: 'GraphNode',
  fields: { next: IsReference((): Type<object> => nodes.entity, { optional: true }) },
});
const node = IsReference(() => nodes.entity);
nodes.references = { next: { to: nodes.entity, onDelete: 'cascade' } };

class LeafInput {
  @IsText({ max: 20 }) name!: string;
  @IsReference(() => nodes.entity, { optional: true }) node?: string;
}

/** What the next delete of a leaf does first. */
let beforeDelOfLeaf: (context: { record: Made }) => Promise<void>;

const kinds = resource({ name: 'kinds', kept, isolationFields: shown });
const boxes = resource({ name: 'boxes', ...personal });
/** The outline of a resource whose records each keep a kind, unless it says otherwise. */
const using = (outline: Outline): Outline => ({
  fields: { kind: IsReference(() => kinds.entity) },
  kept: { ...kept, ...personal.kept, deletedAt: Prop({ type: Date }) },
  references: { kind: { to: kinds.entity, onDelete: 'restrict' } },
  isolationFields,
  ...outline,
});
const cascading = { to: kinds.entity, onDelete: 'cascade' } as const;
const crates = resource(using({ name: 'crates', references: { kind: cascading } }));
const essays = (check: 'exists' | 'sameScope') =>
  using({
    name: `essays-${check.toLowerCase()}`,
    class: `Essay${check}`,
    isolationFields: shown,
    references: { kind: { ...cascading, check } },
  });

const app = useResourceApp(
  nodes,
  feature({
    name: 'albums',
    fields: { nodes: IsListOf(node, { max: 9 }) },
    references: { nodes: { to: nodes.entity, onDelete: 'unset' } },
  }),
  feature({
    name: 'leaves',
    fields: LeafInput,
    references: { node: { to: nodes.entity, onDelete: 'cascade' } },
    hooks: { beforeDel: (context) => beforeDelOfLeaf(context) },
  }),
  kinds,
  boxes,
  crates,
  feature({
    name: 'labels',
    fields: { crate: IsReference(() => crates.entity) },
    ...personal,
    references: { crate: { to: crates.entity, onDelete: 'restrict' } },
  }),
  feature(using({ name: 'of-tenant', archive: { field: 'deletedAt' } })),
  feature(using({ name: 'of-person', isolationFields: { all: { ...tenant, ...owner } } })),
  feature(using({ name: 'open', isolationFields: shown })),
  below(boxes, using({ name: 'put' })),
  feature(essays('exists')),
  feature(essays('sameScope')),
);
beforeEach(async () => {
  beforeDelOfLeaf = () => Promise.resolve();
  await app.empty();
});

const kindOf = (token: string) => app.create('/kinds', { text: 'A' }, token);

it('a service that writes by its store cannot refer to what is not there', async () => {
  const { store } = serviceIn<{ store: CrudStore<Made> }>(app, crates.entity);
  const stray = { kind: new Types.ObjectId() };
  await expect(store.insert(stray)).rejects.toThrow('"kind" names no kind that you can use');
  const kind = await kindOf(ada);
  const { _id } = await store.insert({ kind: new Types.ObjectId(kind), tenant: new Types.ObjectId(ACME) });
  await expect(store.update({ _id }, { set: stray })).rejects.toThrow(
    '"kind" names no kind that you can use',
  );
});

const count = (name: string) => app.database.collection(name).countDocuments();

describe('deleting a record that others refer to', () => {
  const node = (body: object = {}) => app.create('/nodes', body);

  it.each([1, 3])('ends if a cascade is circular, through %d of them', async (length) => {
    const circle = [await node()];
    while (circle.length < length) circle.push(await node({ next: circle.at(-1) }));
    await app.patch(`/nodes/${circle[0]}`, { next: circle.at(-1)?.toUpperCase() });
    const apart = await node();
    expect((await app.del(`/nodes/${circle[1] ?? circle[0]}`)).body).toEqual({ deleted: true });
    expect((await app.get('/nodes')).body).toMatchObject([{ _id: apart }]);
  });

  it('reaches what its unit of work has made, and leaves all as it was if the unit fails', async () => {
    const service = serviceIn(app, nodes.entity);
    const target = await node();
    const fill = (fails: boolean) =>
      app.app.get(Crud, { strict: false }).atomically(scopeOf({}), async (work) => {
        await service.create(work, { next: target } as Partial<Made>);
        await service.del(work, target);
        if (fails) throw new Error('The unit fails.');
      });
    await expect(fill(true)).rejects.toThrow('The unit fails.');
    expect((await app.get('/nodes')).body).toMatchObject([{ _id: target }]);
    await fill(false);
    expect((await app.get('/nodes')).body).toEqual([]);
  });

  it('removes its entry from a list, and keeps the others', async () => {
    const nodes = [await node(), await node(), await node()];
    const upper = nodes.map((one) => one.toUpperCase());
    const album = `/albums/${await app.create('/albums', { nodes: upper })}`;
    await app.del(`/nodes/${nodes[1]}`);
    expect((await app.get(album)).body.nodes).toEqual([nodes[0], nodes[2]]);
    await Promise.all([app.del(`/nodes/${nodes[0]}`), app.del(`/nodes/${nodes[2]}`)]);
    const { body, headers } = await app.get(album);
    expect([body.nodes, headers.get('etag')]).toEqual([[], '"3"']);
  });

  it('leaves a record that was made to refer to another one meanwhile', async () => {
    const [going, staying] = [await node(), await node()];
    const moved = await app.create('/leaves', { name: 'moved', node: going });
    await app.create('/leaves', { name: 'gone', node: going });
    beforeDelOfLeaf = async ({ record }) => {
      if (record.name === 'gone') await app.patch(`/leaves/${moved}`, { node: staying });
    };
    expect((await app.del(`/nodes/${going}`)).body).toEqual({ deleted: true });
    expect((await app.get('/leaves')).body).toMatchObject([{ name: 'moved' }]);
  });
});

it.each([
  ['exists', 'is made', 201, undefined],
  ['sameScope', 'is refused', 400, '/kind'],
])('%s: a reference to a shared record of others %s, and cascades', async (check, _is, status, pointer) => {
  const path = `/essays-${check.toLowerCase()}`;
  const [first, second] = [await kindOf(ada), await kindOf(eve)];
  expect((await app.get(`/kinds/${first}`)).status).toBe(200);
  await app.create(path, { kind: first }, ada);
  const foreign = await app.post(path, { kind: first }, { token: eve });
  expect([foreign.status, foreign.body.errors?.[0]?.pointer]).toEqual([status, pointer]);
  await app.create(path, { kind: second }, eve);
  expect((await app.del(`/kinds/${first}`, { token: ada })).status).toBe(200);
  expect((await app.get(path)).body).toMatchObject([{ kind: second }]);
});

describe('a record that others restrict', () => {
  it.each([
    ['another tenant has a private one', 'of-tenant', eve, 200],
    ['another tenant has one that everybody reads', 'open', eve, 409],
    ['its own tenant has one', 'of-tenant', bob, 409],
    ['its own tenant has an archived one', 'of-tenant archived', bob, 409],
    ['another person has a private one', 'of-person', bob, 200],
    ['the caller has a private one', 'of-person', ada, 409],
    ['another person has one below a private parent', 'put', bob, 200],
    ['the caller has one below a private parent', 'put', ada, 409],
  ])('is deleted, or not, as the caller can see: %s', async (_who, where, token, status) => {
    const kind = await kindOf(ada);
    const [name = ''] = where.split(' ');
    const path =
      name === 'put' ? `/boxes/${await app.create('/boxes', { text: 'x' }, token)}/put` : `/${name}`;
    const made = await app.create(path, { kind }, token);
    if (where.endsWith('archived')) await app.del(`${path}/${made}`, { token });
    const answer = await app.del(`/kinds/${kind}`, { token: ada });
    const code = status === 409 ? 'STILL_REFERENCED' : undefined;
    expect([answer.status, answer.body.code, await count(name)]).toEqual([status, code, 1]);
  });

  it.each([
    ['of its caller', ada, 409, 1],
    ['that its caller cannot see', bob, 200, 0],
  ])('is deleted with what refers to it, or not, for a record %s', async (_whose, token, status, left) => {
    const kind = await kindOf(ada);
    const crate = await app.create('/crates', { kind }, ada);
    await app.create('/labels', { crate }, token);
    expect((await app.del(`/kinds/${kind}`, { token: ada })).status).toBe(status);
    expect(await count('crates')).toBe(left);
  });

  it('is kept by every record, if code deletes it without isolation', async () => {
    const kind = await kindOf(ada);
    await app.create('/of-person', { kind }, eve);
    const service = serviceIn(app, kinds.entity);
    const restricted = expect.objectContaining({ code: 'STILL_REFERENCED' });
    await expect(service.del(unrestrictedScope(), kind)).rejects.toEqual(restricted);
    // It names no owner, whom the others are isolated by.
    await expect(service.del(scopeOf({ tenant: ACME }), kind)).rejects.toEqual(restricted);
    await service.del(scopeOf({ tenant: ACME, owner: 'ada' }), kind);
  });
});
