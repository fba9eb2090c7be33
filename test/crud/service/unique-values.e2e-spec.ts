/** @mongodb */
import { Prop, Schema } from '@nestjs/mongoose';
import { mongo, Types } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsIdentifier, IsNested, IsText, schemaOf } from '../../../src/common/fields/index.js';
import { claim, currentTenant } from '../../../src/common/tenancy/index.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { createResourceApp, resourceRoot } from '../../support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import { createTestApp, type TestApp } from '../../support/test-app.js';

const [ada, bob, eve] = await Promise.all([
  tokenOf(ACME, { sub: 'ada' }),
  tokenOf(ACME, { sub: 'bob' }),
  tokenOf(GLOBEX, { sub: 'eve' }),
]);

class SiteInput {
  @Prop({ unique: true }) @IsText({ max: 20 }) slug!: string;
  @Prop({ unique: true, sparse: true }) @IsText({ max: 20, optional: true }) code?: string;
  @IsText({ max: 20, optional: true }) host?: string;
}

class SiteRecord extends SiteInput {
  @IsIdentifier() tenant!: string;
  @Prop() owner?: string;

  /** Of the input, so that a client can try values. */
  @Prop({ type: String, unique: true, sparse: true, select: false }) pin?: string;
  @Prop() deletedAt?: Date;
}

class PinInput extends SiteInput {
  @IsText({ max: 20, optional: true }) pin?: string;
}

@Schema({ timestamps: true })
class Private extends SiteRecord {}
@Schema({ timestamps: true })
class Written extends SiteRecord {}
@Schema({ timestamps: true })
class Shared extends SiteRecord {}
@Schema({ timestamps: true })
class Archived extends SiteRecord {}
@Schema({ timestamps: true })
class Public extends PinInput {}

const tenant = { tenant: currentTenant };
const hostname = (entity: typeof SiteRecord) =>
  schemaOf(entity).index({ host: 1 }, { unique: true, sparse: true, name: 'host' });
const common = { input: PinInput, globallyUnique: ['host'] as const };

const sites = () => [
  CrudModule.forFeature({
    ...common,
    entity: Private,
    name: 'privates',
    schema: hostname(Private),
    isolationFields: { all: tenant },
  }),
  CrudModule.forFeature({
    ...common,
    entity: Written,
    name: 'writtens',
    schema: hostname(Written),
    isolationFields: { create: tenant, update: tenant, del: tenant },
  }),
  CrudModule.forFeature({
    ...common,
    entity: Shared,
    name: 'shareds',
    schema: hostname(Shared),
    isolationFields: { all: tenant, create: { owner: claim('sub') }, update: { owner: claim('sub') } },
  }),
  CrudModule.forFeature({
    ...common,
    entity: Archived,
    name: 'archiveds',
    schema: hostname(Archived),
    isolationFields: { all: tenant },
    archive: { field: 'deletedAt' },
  }),
];

let app: TestApp;

describe('a unique value', () => {
  beforeAll(async () => {
    app = await createResourceApp(
      ...sites(),
      CrudModule.forFeature({ entity: Public, input: PinInput, name: 'publics' }),
    );
  });
  afterAll(() => app.close());
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

class GateInput {
  @IsNested(() => Door) door!: Door;
}

@Schema({ timestamps: true })
class Gate extends GateInput {
  @IsIdentifier() tenant!: string;
  @Prop() owner?: string;
}

it('a unique value that the output hides tells only those of it who write the same records', async () => {
  const owner = { owner: claim('sub') };
  const gates = await createResourceApp(
    CrudModule.forFeature({
      entity: Gate,
      input: GateInput,
      name: 'gates',
      schema: schemaOf(Gate).index({ 'door.code': 1 }, { unique: true }),
      isolationFields: { all: tenant, create: owner, update: owner, del: owner },
      output: { from: ({ _id }) => ({ _id }), hides: ['door.code'] },
    }),
  );
  const post = async (token: string) =>
    (await gates.post('/gates', { door: { code: '1234' } }, { token })).status;
  expect([await post(ada), await post(bob), await post(ada)]).toEqual([201, 201, 409]);
  await gates.close();
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
      root: (environment, database) => resourceRoot(environment, database, sites().slice(0, 1)),
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
