/** @mongodb */
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudModule, type CrudService, getCrudServiceToken } from '../../../src/common/crud/index.js';
import { IsIdentifier, IsReference, IsText } from '../../../src/common/fields/index.js';
import { claim, currentTenant, scopeOf, unrestrictedScope } from '../../../src/common/tenancy/index.js';
import { createResourceApp } from '../../support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import type { TestApp } from '../../support/test-app.js';

const [ada, bob, eve] = await Promise.all([
  tokenOf(ACME, { sub: 'ada' }),
  tokenOf(ACME, { sub: 'bob' }),
  tokenOf(GLOBEX, { sub: 'eve' }),
]);

class NameInput {
  @IsText({ max: 20 }) name!: string;
}

/** Everybody's to read, and each tenant's to delete. */
@Schema({ timestamps: true })
class Kind extends NameInput {
  @IsIdentifier() tenant!: string;
}

class UseInput {
  @IsReference(() => Kind) kind!: string;
}

class Owned extends UseInput {
  @IsIdentifier() tenant!: string;
  @Prop() owner?: string;
  @Prop() box?: Types.ObjectId;
  @Prop() deletedAt?: Date;
}

@Schema({ timestamps: true })
class OfTenant extends Owned {}
@Schema({ timestamps: true })
class OfPerson extends Owned {}
@Schema({ timestamps: true })
class Open extends Owned {}
@Schema({ timestamps: true })
class Put extends Owned {}
@Schema({ timestamps: true })
class Box extends NameInput {
  @Prop() owner!: string;
}

const tenant = { tenant: currentTenant };

let app: TestApp;

describe('a record that others restrict', () => {
  const references = { kind: { to: Kind, onDelete: 'restrict' } } as const;
  beforeAll(async () => {
    app = await createResourceApp(
      CrudModule.forFeature({
        entity: Kind,
        input: NameInput,
        name: 'kinds',
        isolationFields: { create: tenant, update: tenant, del: tenant },
      }),
      CrudModule.forFeature({
        entity: OfTenant,
        input: UseInput,
        name: 'of-tenant',
        isolationFields: { all: tenant },
        archive: { field: 'deletedAt' },
        references,
      }),
      CrudModule.forFeature({
        entity: OfPerson,
        input: UseInput,
        name: 'of-person',
        isolationFields: { all: { ...tenant, owner: claim('sub') } },
        references,
      }),
      CrudModule.forFeature({
        entity: Open,
        input: UseInput,
        name: 'open',
        isolationFields: { create: tenant, update: tenant, del: tenant },
        references,
      }),
      CrudModule.forFeature({
        entity: Box,
        input: NameInput,
        name: 'boxes',
        isolationFields: { all: { owner: claim('sub') } },
      }),
      CrudModule.forFeature({
        entity: Put,
        input: UseInput,
        name: 'put',
        path: 'boxes/:boxId/put',
        parent: { entity: Box, param: 'boxId', field: 'box' },
        isolationFields: { all: tenant },
        references,
      }),
    );
  });
  afterAll(() => app.close());
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

  it('is kept by every record, if code deletes it without isolation', async () => {
    const kind = await kindOf(ada);
    await app.post('/of-person', { kind }, { token: eve });
    const kinds = app.app.get<CrudService<Kind, NameInput>>(getCrudServiceToken(Kind), { strict: false });
    const restricted = expect.objectContaining({ code: 'STILL_REFERENCED' });
    await expect(kinds.del(unrestrictedScope(), kind)).rejects.toEqual(restricted);
    // It names no owner, whom the others are isolated by.
    await expect(kinds.del(scopeOf({ tenant: ACME }), kind)).rejects.toEqual(restricted);
    await kinds.del(scopeOf({ tenant: ACME, owner: 'ada' }), kind);
  });
});
