/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudModule, type CrudService, getCrudServiceToken } from '../../../src/common/crud/index.js';
import { IsIdentifier, IsReference, IsText } from '../../../src/common/fields/index.js';
import { claim, currentTenant, scopeOf, unrestrictedScope } from '../../../src/common/tenancy/index.js';
import { feature, type Made, type Outline, resource } from '../../support/resource.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';

const [ada, bob, eve] = await Promise.all([
  tokenOf(ACME, { sub: 'ada' }),
  tokenOf(ACME, { sub: 'bob' }),
  tokenOf(GLOBEX, { sub: 'eve' }),
]);

const tenant = { tenant: currentTenant };
const written = { create: tenant, update: tenant, del: tenant };
const name = IsText({ max: 20 });
/** Everybody's to read, and each tenant's to delete. */
const kinds = resource({
  name: 'kinds',
  fields: { name },
  kept: { tenant: IsIdentifier() },
  isolationFields: written,
});
const boxes = resource({
  name: 'boxes',
  fields: { name },
  kept: { owner: Prop({ type: String }) },
  isolationFields: { all: { owner: claim('sub') } },
});
/** Deleted with their kind. */
const crates = resource({
  name: 'crates',
  fields: { kind: IsReference(() => kinds.entity) },
  kept: { tenant: IsIdentifier() },
  isolationFields: { all: tenant },
  references: { kind: { to: kinds.entity, onDelete: 'cascade' } },
});
/** A resource whose records each refer to a kind. */
const using = (options: Outline) =>
  feature({
    fields: { kind: IsReference(() => kinds.entity) },
    kept: {
      tenant: IsIdentifier(),
      owner: Prop({ type: String }),
      box: Prop({ type: Types.ObjectId }),
      deletedAt: Prop({ type: Date }),
    },
    references: { kind: { to: kinds.entity, onDelete: 'restrict' } },
    ...options,
  });

describe('a record that others restrict', () => {
  const app = useResourceApp(
    CrudModule.forFeature(kinds),
    CrudModule.forFeature(boxes),
    CrudModule.forFeature(crates),
    feature({
      name: 'labels',
      fields: { crate: IsReference(() => crates.entity) },
      kept: { owner: Prop({ type: String }) },
      isolationFields: { all: { owner: claim('sub') } },
      references: { crate: { to: crates.entity, onDelete: 'restrict' } },
    }),
    using({ name: 'of-tenant', isolationFields: { all: tenant }, archive: { field: 'deletedAt' } }),
    using({ name: 'of-person', isolationFields: { all: { ...tenant, owner: claim('sub') } } }),
    using({ name: 'open', isolationFields: written }),
    using({
      name: 'put',
      path: 'boxes/:boxId/put',
      parent: { entity: boxes.entity, param: 'boxId', field: 'box' },
      isolationFields: { all: tenant },
    }),
  );
  beforeEach(() => app.empty());

  const kindOf = async (token: string) =>
    (await app.post('/kinds', { name: 'x' }, { token })).body._id as string;
  const boxOf = async (token: string) =>
    (await app.post('/boxes', { name: 'x' }, { token })).body._id as string;

  it.each([
    ['another tenant has a private one', 'of-tenant', () => eve, 200],
    ['another tenant has one that everybody reads', 'open', () => eve, 409],
    ['its own tenant has one', 'of-tenant', () => bob, 409],
    ['its own tenant has an archived one', 'of-tenant archived', () => bob, 409],
    ['another person has a private one', 'of-person', () => bob, 200],
    ['the caller has a private one', 'of-person', () => ada, 409],
    ['another person has one below a private parent', 'put', () => bob, 200],
    ['the caller has one below a private parent', 'put', () => ada, 409],
  ])('is deleted, or not, as the caller can see: %s', async (_who, where, whose, status) => {
    const kind = await kindOf(ada);
    const [name = ''] = where.split(' ');
    const path = name === 'put' ? `/boxes/${await boxOf(whose())}/put` : `/${name}`;
    const made = await app.post(path, { kind }, { token: whose() });
    expect(made.status).toBe(201);
    if (where.endsWith('archived')) await app.del(`${path}/${made.body._id}`, { token: whose() });
    const answer = await app.del(`/kinds/${kind}`, { token: ada });
    expect([answer.status, answer.body.code]).toEqual([
      status,
      status === 409 ? 'STILL_REFERENCED' : undefined,
    ]);
    expect(await app.database.collection(name).countDocuments()).toBe(1);
  });

  it.each([
    ['of its caller', () => ada, 409, 1],
    ['that its caller cannot see', () => bob, 200, 0],
  ])('is deleted with what refers to it, or not, for a record %s', async (_whose, whose, status, left) => {
    const kind = await kindOf(ada);
    const crate = (await app.post('/crates', { kind }, { token: ada })).body._id as string;
    await app.post('/labels', { crate }, { token: whose() });
    expect((await app.del(`/kinds/${kind}`, { token: ada })).status).toBe(status);
    expect(await app.database.collection('crates').countDocuments()).toBe(left);
  });

  it('is kept by every record, if code deletes it without isolation', async () => {
    const kind = await kindOf(ada);
    await app.post('/of-person', { kind }, { token: eve });
    const service = app.app.get<CrudService<Made, Made>>(getCrudServiceToken(kinds.entity), {
      strict: false,
    });
    const restricted = expect.objectContaining({ code: 'STILL_REFERENCED' });
    await expect(service.del(unrestrictedScope(), kind)).rejects.toEqual(restricted);
    // It names no owner, whom the others are isolated by.
    await expect(service.del(scopeOf({ tenant: ACME }), kind)).rejects.toEqual(restricted);
    await service.del(scopeOf({ tenant: ACME, owner: 'ada' }), kind);
  });
});
