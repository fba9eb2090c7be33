/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { mongo, Types } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsIdentifier, IsNested, IsText, schemaOf } from '../../../src/common/fields/index.js';
import { claim, currentTenant } from '../../../src/common/tenancy/index.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { createResourceApp, resourceRoot, useResourceApp } from '../../support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import { createTestApp } from '../../support/test-app.js';
import { resource, feature, type Outline, type Fields } from '../../support/resource.js';

const [ada, bob, eve] = await Promise.all([
  tokenOf(ACME, { sub: 'ada' }),
  tokenOf(ACME, { sub: 'bob' }),
  tokenOf(GLOBEX, { sub: 'eve' }),
]);

const text = IsText({ max: 20, optional: true });
const sparse = { unique: true, sparse: true };
const INPUT: Fields = {
  slug: [Prop({ type: String, unique: true }), IsText({ max: 20 })],
  code: [Prop({ type: String, ...sparse }), text],
  host: text,
  pin: text,
};
const tenant = { tenant: currentTenant };
const owner = { owner: claim('sub') };

function site(outline: Outline) {
  const { entity, ...options } = resource({
    fields: INPUT,
    kept: {
      tenant: IsIdentifier(),
      owner: Prop({ type: String }),
      // Of the input, so that a client can try values.
      pin: Prop({ type: String, ...sparse, select: false }),
      deletedAt: Prop({ type: Date }),
    },
    globallyUnique: ['host'],
    ...outline,
  });
  const schema = schemaOf(entity).index({ host: 1 }, { ...sparse, name: 'host' });
  return CrudModule.forFeature({ ...options, entity, schema });
}

const privates = () => site({ name: 'privates', isolationFields: { all: tenant } });

describe('a unique value', () => {
  const app = useResourceApp(
    privates(),
    site({ name: 'writtens', isolationFields: { create: tenant, update: tenant, del: tenant } }),
    site({ name: 'shareds', isolationFields: { all: tenant, create: owner, update: owner } }),
    site({ name: 'archiveds', isolationFields: { all: tenant }, archive: { field: 'deletedAt' } }),
    feature({ name: 'publics', fields: INPUT }),
  );
  beforeEach(() => app.empty());

  it.each(['privates', 'writtens', 'shareds', 'archiveds'])(
    'of another tenant is free, of one that may be read is a 409, and a global one always is: %s',
    async (name) => {
      const full = { slug: 'a', code: 'a', pin: 'a' };
      const post = async (token: string, body: object) => {
        const answer = await app.post(`/${name}`, body, { token });
        return [
          answer.status,
          (answer.body.errors as { pointer: string }[] | undefined)?.map(({ pointer }) => pointer),
        ];
      };
      const created = [201, undefined];
      expect(await post(ada, { ...full, host: 'a' })).toEqual(created);
      expect(await post(eve, full)).toEqual(created);
      expect(await post(eve, { slug: 'b' })).toEqual(created);
      expect(await post(eve, { slug: 'c' })).toEqual(created);
      expect(await post(eve, { slug: 'a' })).toEqual([409, ['/slug']]);
      expect(await post(eve, { slug: 'd', code: 'a' })).toEqual([409, ['/code']]);
      expect(await post(bob, { slug: 'a' })).toEqual([409, ['/slug']]);
      expect(await post(eve, { slug: 'e', host: 'a' })).toEqual([409, ['/host']]);
      // Of a hidden value, only those learn who write the same records.
      expect(await post(ada, { slug: 'f', pin: 'a' })).toEqual([409, ['/pin']]);
      expect(await post(bob, { slug: 'f', pin: 'a' })).toEqual(
        name === 'shareds' ? created : [409, ['/pin']],
      );
    },
  );

  it('of a public resource is unique among all', async () => {
    expect((await app.post('/publics', { slug: 'a' })).status).toBe(201);
    expect((await app.post('/publics', { slug: 'a' })).status).toBe(409);
  });
});

class Door {
  @IsText({ max: 20 }) code!: string;
}

it('a unique value that the output hides tells only those of it who write the same records', async () => {
  const gates = resource({
    name: 'gates',
    fields: { door: IsNested(() => Door) },
    kept: { tenant: IsIdentifier(), owner: Prop({ type: String }) },
    isolationFields: { all: tenant, create: owner, update: owner, del: owner },
    output: { from: ({ _id }) => ({ _id }) as object, hides: ['door.code'] },
  });
  const schema = schemaOf(gates.entity).index({ 'door.code': 1 }, { unique: true });
  const app = await createResourceApp(CrudModule.forFeature({ ...gates, schema }));
  const post = async (token: string) =>
    (await app.post('/gates', { door: { code: '1234' } }, { token })).status;
  expect([await post(ada), await post(bob), await post(ada)]).toEqual([201, 201, 409]);
  await app.close();
});

it('a unique index of an older version is replaced at the start, and its data stay', async () => {
  const uri = freshDatabaseUri();
  const client = new mongo.MongoClient(uri);
  const collection = client.db().collection('privates');
  await collection.createIndex({ slug: 1 }, { unique: true });
  await collection.createIndex({ code: 1 }, { unique: true, sparse: true, name: 'codes' });
  await collection.createIndex({ host: 1 }, { unique: true, sparse: true, name: 'host' });
  await collection.createIndex({ owner: 1 }, { unique: true, sparse: true });
  const times = { createdAt: new Date(0), updatedAt: new Date(0), __v: 0 };
  await collection.insertOne({ slug: 'a', tenant: new Types.ObjectId(ACME), ...times });
  for (const [token, status] of [
    [eve, 201],
    [ada, 409],
  ] as const) {
    const newer = await createTestApp({
      env: { MONGODB_URI: uri },
      root: (environment, database) => resourceRoot(environment, database, [privates()]),
    });
    const created = await newer.post('/privates', { slug: 'a' }, { token });
    await newer.leave();
    expect(created.status).toBe(status);
  }
  const unique = (await collection.indexes())
    .filter((index) => index.unique)
    .map(({ key }) => JSON.stringify(key));
  expect(unique.sort()).toEqual(
    [{ host: 1 }, { owner: 1 }, { tenant: 1, code: 1 }, { tenant: 1, pin: 1 }, { tenant: 1, slug: 1 }].map(
      (key) => JSON.stringify(key),
    ),
  );
  await client.db().dropDatabase();
  await client.close();
});
