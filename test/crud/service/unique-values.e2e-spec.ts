/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { mongo, Types } from 'mongoose';
import { IsIdentifier, IsNested, IsText, schemaOf } from '../../../src/common/fields/index.js';
import { claim, currentTenant } from '../../../src/common/tenancy/index.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { resourceRoot, useResourceApp } from '../../support/resource-app.js';
import { type Fields, type Outline, resource } from '../../support/resource.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import { createTestApp } from '../../support/test-app.js';

const [ada, bob] = [tokenOf(ACME, { sub: 'ada' }), tokenOf(ACME, { sub: 'bob' })];
const eve = tokenOf(GLOBEX, { sub: 'eve' });

const text = IsText({ max: 20, optional: true });
const sparse = { unique: true, sparse: true };
const fields: Fields = {
  slug: [Prop({ type: String, unique: true }), IsText({ max: 20 })],
  code: [Prop({ type: String, ...sparse }), text],
  host: text,
  pin: text,
};
const tenant = { tenant: currentTenant };
const owner = { owner: claim('sub') };
const kept = { tenant: IsIdentifier(), owner: Prop({ type: String }) };

function site(outline: Outline) {
  const options = resource({
    fields,
    kept: {
      ...kept,
      // Of the input, so that a client can try values.
      pin: Prop({ type: String, ...sparse, select: false }),
      deletedAt: Prop({ type: Date }),
    },
    globallyUnique: ['host'],
    ...outline,
  });
  options.schema = schemaOf(options.entity).index({ host: 1 }, { ...sparse, name: 'host' });
  return options;
}
const privates = () => site({ name: 'privates', isolationFields: { all: tenant } });

class Door {
  @IsText({ max: 20 }) code!: string;
}
const gates = resource({
  name: 'gates',
  fields: { door: IsNested(() => Door) },
  kept,
  isolationFields: { all: tenant, create: owner, update: owner, del: owner },
  output: { from: ({ _id }) => ({ _id }) as object, hides: ['door.code'] },
});
gates.schema = schemaOf(gates.entity).index({ 'door.code': 1 }, { unique: true });

const app = useResourceApp(
  privates(),
  site({ name: 'writtens', isolationFields: { create: tenant, update: tenant, del: tenant } }),
  site({ name: 'shareds', isolationFields: { all: tenant, create: owner, update: owner } }),
  site({ name: 'archiveds', isolationFields: { all: tenant }, archive: { field: 'deletedAt' } }),
  resource({ name: 'publics', fields }),
  gates,
);
beforeEach(() => app.empty());

/** The status of a create, and the place of its fault. */
const post = async (path: string, body: object, token?: string) => {
  const { status, body: answer } = await app.post(path, body, { token });
  return [status, ...((answer.errors ?? []) as { pointer: string }[]).map(({ pointer }) => pointer)];
};

describe('a unique value', () => {
  it.each(['privates', 'writtens', 'shareds', 'archiveds'])(
    'of another tenant is free, of one that may be read is a 409, and a global one always is: %s',
    async (name) => {
      const full = { slug: 'a', code: 'a', pin: 'a' };
      const steps: [string, object, ...unknown[]][] = [
        [ada, { ...full, host: 'a' }, 201],
        [eve, full, 201],
        [eve, { slug: 'b' }, 201],
        [eve, { slug: 'c' }, 201],
        [eve, { slug: 'a' }, 409, '/slug'],
        [eve, { slug: 'd', code: 'a' }, 409, '/code'],
        [bob, { slug: 'a' }, 409, '/slug'],
        [eve, { slug: 'e', host: 'a' }, 409, '/host'],
        // Of a hidden value, only those learn who write the same records.
        [ada, { slug: 'f', pin: 'a' }, 409, '/pin'],
        [bob, { slug: 'f', pin: 'a' }, ...(name === 'shareds' ? [201] : [409, '/pin'])],
      ];
      for (const [token, body, ...expected] of steps)
        expect([body, ...(await post(`/${name}`, body, token))]).toEqual([body, ...expected]);
    },
  );

  it('of a public resource is unique among all', async () => {
    expect(await post('/publics', { slug: 'a' })).toEqual([201]);
    const { status, body, text } = await app.post('/publics', { slug: 'a' });
    const detail = 'A record with the same slug exists. Choose another value.';
    const errors = [{ pointer: '/slug', detail }];
    expect([status, body]).toMatchObject([409, { code: 'DUPLICATE_VALUE', detail, errors }]);
    expect(text).not.toMatch(/E11000|collection|index/);
  });

  it('that the output hides tells only those of it who write the same records', async () => {
    const statuses = [];
    for (const token of [ada, bob, ada])
      statuses.push((await app.post('/gates', { door: { code: '1234' } }, { token })).status);
    expect(statuses).toEqual([201, 201, 409]);
  });
});

it('a unique index of an older version is replaced at the start, and its data stay', async () => {
  const uri = freshDatabaseUri();
  const client = new mongo.MongoClient(uri);
  const collection = client.db().collection('privates');
  await collection.createIndex({ slug: 1 }, { unique: true });
  await collection.createIndex({ code: 1 }, { ...sparse, name: 'codes' });
  await collection.createIndex({ host: 1 }, { ...sparse, name: 'host' });
  await collection.createIndex({ owner: 1 }, sparse);
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
  const unique = (await collection.indexes()).filter((index) => index.unique);
  const tenants = ['code', 'pin', 'slug'].map((field) => `{"tenant":1,"${field}":1}`);
  expect(unique.map(({ key }) => JSON.stringify(key)).sort()).toEqual([
    '{"host":1}',
    '{"owner":1}',
    ...tenants,
  ]);
  await client.db().dropDatabase();
  await client.close();
});
