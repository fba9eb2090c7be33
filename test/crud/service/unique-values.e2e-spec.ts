/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { claim, currentTenant, IsIdentifier, IsNested, IsText, schemaOf } from '../../../src/index.js';
import { useDatabase } from '../../support/mongodb.js';
import { each } from '../../support/records.js';
import { rootOf, useResourceApp } from '../../support/resource-app.js';
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
  gates,
);
beforeEach(() => app.empty());

/** The status of a create, and the place of its fault. */
const post = async (path: string, body: object, token: string) => {
  const { status, body: answer } = await app.post(path, body, { token });
  return [status, ...each(answer.errors ?? [], 'pointer')];
};

describe('a unique value', () => {
  const NAMES = ['privates', 'writtens', 'shareds', 'archiveds'];
  it.each(NAMES)('is a 409 for those who may read it, and a global one for all: %s', async (name) => {
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
  });

  it('that the output hides tells only those of it who write the same records', async () => {
    const body = { door: { code: '1234' } };
    for (const token of [ada, bob]) expect(await post('/gates', body, token)).toEqual([201]);
    expect((await app.post('/gates', body, { token: ada })).status).toBe(409);
  });
});

const older = useDatabase();
it('a unique index of an older version is replaced at the start, and its data stay', async () => {
  const { uri, database } = older;
  const collection = database.collection('privates');
  await collection.createIndex({ slug: 1 }, { unique: true });
  await collection.createIndex({ code: 1 }, { ...sparse, name: 'codes' });
  await collection.createIndex({ host: 1 }, { ...sparse, name: 'host' });
  await collection.createIndex({ owner: 1 }, sparse);
  const times = { createdAt: new Date(0), updatedAt: new Date(0), __v: 0 };
  await collection.insertOne({ slug: 'a', tenant: new Types.ObjectId(ACME), ...times });
  for (const token of [eve, ada]) {
    const newer = await createTestApp({ env: { MONGODB_URI: uri }, root: rootOf(privates()) });
    const created = await newer.post('/privates', { slug: 'a' }, { token });
    await newer.leave();
    expect(created.status).toBe(token === eve ? 201 : 409);
  }
  const unique = (await collection.indexes()).filter((index) => index.unique);
  const tenants = ['code', 'pin', 'slug'].map((field) => `{"tenant":1,"${field}":1}`);
  const keys = unique.map(({ key }) => JSON.stringify(key)).sort();
  expect(keys).toEqual(['{"host":1}', '{"owner":1}', ...tenants]);
});
