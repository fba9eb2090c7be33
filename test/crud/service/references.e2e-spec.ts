/** @mongodb */
import type { Type } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { Crud, type CrudOptions } from '../../../src/common/crud/index.js';
import { IsListOf, IsReference, IsText } from '../../../src/common/fields/index.js';
import { claim, currentTenant, scopeOf, unrestrictedScope } from '../../../src/common/tenancy/index.js';
import { serviceIn, useResourceApp } from '../../support/resource-app.js';
import { feature, type Made, OF_TENANT, type Outline, resource } from '../../support/resource.js';
import { ACME, acme, GLOBEX, globex, tokenOf } from '../../support/tenants.js';

const [ada, bob] = [tokenOf(ACME, { sub: 'ada' }), tokenOf(ACME, { sub: 'bob' })];
const eve = tokenOf(GLOBEX, { sub: 'eve' });

const tenant = { tenant: currentTenant };
/** Everybody's to read, and each tenant's to write. */
const shown = { kept: OF_TENANT.kept, isolationFields: { create: tenant, update: tenant, del: tenant } };
const personal = {
  kept: { owner: Prop({ type: String }) },
  isolationFields: { all: { owner: claim('sub') } },
};
const name = IsText({ max: 20 });

const nodes: CrudOptions<Made, Made> = resource({
  name: 'nodes',
  class: 'GraphNode',
  fields: { next: IsReference((): Type<object> => nodes.entity, { optional: true }) },
});
nodes.references = { next: { to: nodes.entity, onDelete: 'cascade' } };

class LeafInput {
  @IsText({ max: 20 }) name!: string;
  @IsReference(() => nodes.entity, { optional: true }) node?: string;
}

/** What the next delete of a leaf does first. */
let beforeDelOfLeaf: (context: { record: Made }) => Promise<void>;

const kinds = resource({ name: 'kinds', fields: { name }, ...shown });
const kind = IsReference(() => kinds.entity);
const boxes = resource({ name: 'boxes', fields: { name }, ...personal });
const crates = resource({
  name: 'crates',
  fields: { kind },
  ...OF_TENANT,
  references: { kind: { to: kinds.entity, onDelete: 'cascade' } },
});
/** A resource whose records each keep a kind. */
const using = (outline: Outline) =>
  feature({
    fields: { kind },
    kept: {
      ...OF_TENANT.kept,
      ...personal.kept,
      box: Prop({ type: Types.ObjectId }),
      deletedAt: Prop({ type: Date }),
    },
    references: { kind: { to: kinds.entity, onDelete: 'restrict' } },
    ...outline,
  });

const topics = resource({ name: 'topics', ...shown });
const essays = (check: 'exists' | 'sameScope') =>
  feature({
    name: `essays-${check.toLowerCase()}`,
    class: `Essay${check}`,
    fields: { topic: IsReference(() => topics.entity) },
    ...shown,
    references: { topic: { to: topics.entity, check, onDelete: 'cascade' } },
  });

const app = useResourceApp(
  nodes,
  feature({
    name: 'albums',
    fields: {
      nodes: IsListOf(
        IsReference(() => nodes.entity),
        { max: 9 },
      ),
    },
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
  using({ name: 'of-tenant', isolationFields: OF_TENANT.isolationFields, archive: { field: 'deletedAt' } }),
  using({ name: 'of-person', isolationFields: { all: { ...tenant, owner: claim('sub') } } }),
  using({ name: 'open', isolationFields: shown.isolationFields }),
  using({
    name: 'put',
    path: 'boxes/:boxId/put',
    parent: { entity: boxes.entity, param: 'boxId', field: 'box' },
    isolationFields: OF_TENANT.isolationFields,
  }),
  topics,
  essays('exists'),
  essays('sameScope'),
);
beforeEach(async () => {
  beforeDelOfLeaf = () => Promise.resolve();
  await app.empty();
});

const count = (name: string) => app.database.collection(name).countDocuments();

describe('deleting a record that others refer to', () => {
  const node = (body: object = {}) => app.create('/nodes', body);

  it('ends if a cascade is circular', async () => {
    const first = await node();
    const second = await node({ next: first });
    const third = await node({ next: second });
    await app.patch(`/nodes/${first}`, { next: third });
    const apart = await node();
    expect((await app.del(`/nodes/${second}`)).body).toEqual({ deleted: true });
    expect((await app.get('/nodes')).body).toMatchObject([{ _id: apart }]);
  });

  it('ends if a record refers to itself', async () => {
    const itself = await node();
    await app.patch(`/nodes/${itself}`, { next: itself });
    expect((await app.del(`/nodes/${itself}`)).body).toEqual({ deleted: true });
    expect((await app.get('/nodes')).body).toEqual([]);
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
    const album = `/albums/${await app.create('/albums', { nodes })}`;
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

it('a reference in upper case names the same record', async () => {
  const first = await app.create('/nodes', {});
  const second = await app.create('/nodes', { next: first.toUpperCase() });
  expect((await app.get(`/nodes/${second}`)).body.next).toBe(first);
});

it('a reference inside a list of objects cannot be unset when its target is deleted', () => {
  const bags = {
    name: 'bags',
    fields: { leaves: IsListOf(() => LeafInput, { max: 9 }) },
    references: { 'leaves.node': { to: nodes.entity, onDelete: 'unset' as const } },
  };
  expect(() => feature(bags)).toThrow(
    new Error(
      'CrudModule.forFeature(Bag): references.leaves.node.onDelete cannot be "unset", since "leaves" is a list of objects. Write "restrict", "cascade" or "ignore".',
    ),
  );
});

describe('a reference to a record of another tenant, which everybody may read', () => {
  it.each([
    ['exists', 'is made', 201, undefined],
    ['sameScope', 'is refused', 400, '/topic'],
  ])(
    'with the check %s %s, and a cascade deletes those that are there',
    async (check, _is, status, pointer) => {
      const path = `/essays-${check.toLowerCase()}`;
      const [first, second] = [
        await app.create('/topics', { text: 'A' }, acme),
        await app.create('/topics', { text: 'A' }, globex),
      ];
      expect((await app.get(`/topics/${first}`)).status).toBe(200);
      await app.create(path, { topic: first }, acme);
      const foreign = await app.post(path, { topic: first }, { token: globex });
      expect([foreign.status, foreign.body.errors?.[0]?.pointer]).toEqual([status, pointer]);
      await app.create(path, { topic: second }, globex);
      expect((await app.del(`/topics/${first}`, { token: acme })).status).toBe(200);
      expect((await app.get(path)).body).toMatchObject([{ topic: second }]);
    },
  );
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
    const kind = await app.create('/kinds', { name: 'x' }, ada);
    const [name = ''] = where.split(' ');
    const path =
      name === 'put' ? `/boxes/${await app.create('/boxes', { name: 'x' }, token)}/put` : `/${name}`;
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
    const kind = await app.create('/kinds', { name: 'x' }, ada);
    const crate = await app.create('/crates', { kind }, ada);
    await app.create('/labels', { crate }, token);
    expect((await app.del(`/kinds/${kind}`, { token: ada })).status).toBe(status);
    expect(await count('crates')).toBe(left);
  });

  it('is kept by every record, if code deletes it without isolation', async () => {
    const kind = await app.create('/kinds', { name: 'x' }, ada);
    await app.create('/of-person', { kind }, eve);
    const service = serviceIn(app, kinds.entity);
    const restricted = expect.objectContaining({ code: 'STILL_REFERENCED' });
    await expect(service.del(unrestrictedScope(), kind)).rejects.toEqual(restricted);
    // It names no owner, whom the others are isolated by.
    await expect(service.del(scopeOf({ tenant: ACME }), kind)).rejects.toEqual(restricted);
    await service.del(scopeOf({ tenant: ACME, owner: 'ada' }), kind);
  });
});
