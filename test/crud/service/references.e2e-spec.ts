/** @mongodb */
import type { Type } from '@nestjs/common';
import { CrudModule, type CrudOptions } from '../../../src/common/crud/index.js';
import { IsListOf, IsReference, IsText } from '../../../src/common/fields/index.js';
import { createResourceApp, useResourceApp } from '../../support/resource-app.js';
import { resource, feature, type Made } from '../../support/resource.js';

const nodes: CrudOptions<Made, Made> = resource({
  name: 'nodes',
  class: 'GraphNode',
  fields: { next: IsReference((): Type<object> => nodes.entity, { optional: true }) },
});

class LeafInput {
  @IsText({ max: 20 }) name!: string;
  @IsReference(() => nodes.entity, { optional: true }) node?: string;
}

/** What the next delete of a leaf does first. */
let beforeDelOfLeaf: (context: { record: Made }) => Promise<void>;

describe('deleting a record that others refer to', () => {
  const app = useResourceApp(
    CrudModule.forFeature({ ...nodes, references: { next: { to: nodes.entity, onDelete: 'cascade' } } }),
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
  );
  beforeEach(async () => {
    beforeDelOfLeaf = () => Promise.resolve();
    await app.empty();
  });

  const created = async (path: string, body: object) => (await app.post(path, body)).body._id as string;
  const namesOfLeaves = async () =>
    ((await app.get('/leaves')).body as LeafInput[]).map(({ name }) => name).sort();

  it('ends if a cascade is circular', async () => {
    const first = await created('/nodes', {});
    const second = await created('/nodes', { next: first });
    const third = await created('/nodes', { next: second });
    await app.patch(`/nodes/${first}`, { next: third });
    const apart = await created('/nodes', {});
    expect((await app.del(`/nodes/${second}`)).body).toEqual({ deleted: true });
    expect((await app.get('/nodes')).body).toMatchObject([{ _id: apart }]);
  });

  it('ends if a record refers to itself', async () => {
    const node = await created('/nodes', {});
    await app.patch(`/nodes/${node}`, { next: node });
    expect((await app.del(`/nodes/${node}`)).body).toEqual({ deleted: true });
    expect((await app.get('/nodes')).body).toEqual([]);
  });

  it('removes its entry from a list, and keeps the others', async () => {
    const nodes = [await created('/nodes', {}), await created('/nodes', {}), await created('/nodes', {})];
    const album = await created('/albums', { nodes });
    await app.del(`/nodes/${nodes[1]}`);
    expect((await app.get(`/albums/${album}`)).body.nodes).toEqual([nodes[0], nodes[2]]);
    await Promise.all([app.del(`/nodes/${nodes[0]}`), app.del(`/nodes/${nodes[2]}`)]);
    const { body, headers } = await app.get(`/albums/${album}`);
    expect(body.nodes).toEqual([]);
    expect(headers.get('etag')).toBe('"3"');
  });

  it('leaves a record that was made to refer to another one meanwhile', async () => {
    const [going, staying] = [await created('/nodes', {}), await created('/nodes', {})];
    const moved = await created('/leaves', { name: 'moved', node: going });
    await created('/leaves', { name: 'gone', node: going });
    beforeDelOfLeaf = async ({ record }) => {
      if (record.name === 'gone') await app.patch(`/leaves/${moved}`, { node: staying });
    };
    expect((await app.del(`/nodes/${going}`)).body).toEqual({ deleted: true });
    expect(await namesOfLeaves()).toEqual(['moved']);
  });
});

describe('a reference in upper case', () => {
  it('names the same record', async () => {
    const references = { next: { to: nodes.entity } };
    const app = await createResourceApp(CrudModule.forFeature({ ...nodes, references }));
    const first = (await app.post('/nodes', {})).body._id as string;
    const { status, body } = await app.post('/nodes', { next: first.toUpperCase() });
    expect(status).toBe(201);
    expect((await app.get(`/nodes/${body._id}`)).body.next).toBe(first);
    await app.close();
  });
});

describe('a reference inside a list of objects', () => {
  it('cannot be unset when its target is deleted', () => {
    const forFeature = () =>
      feature({
        name: 'bags',
        fields: { leaves: IsListOf(() => LeafInput, { max: 9 }) },
        references: { 'leaves.node': { to: nodes.entity, onDelete: 'unset' } },
      });
    expect(forFeature).toThrow(
      new Error(
        'CrudModule.forFeature(Bag): references.leaves.node.onDelete cannot be "unset", since "leaves" is a list of objects. Write "restrict", "cascade" or "ignore".',
      ),
    );
  });
});
