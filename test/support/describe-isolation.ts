import { isDeepStrictEqual } from 'node:util';
import mongoose from 'mongoose';
import { CrudModule } from '../../src/common/crud/index.js';
import { ACTIONS, type MatrixAction, type MatrixResource, matrixResources } from './isolation-matrix.js';
import { createPlainApp } from './platforms.js';
import { HIDDEN } from './private-notes.js';
import { createResourceApp } from './resource-app.js';
import { sendTo } from './send-to.js';
import { ACME, acme, GLOBEX, globex, tokenOf } from './tenants.js';
import type { TestApp, TestRequest } from './test-app.js';

const { ObjectId } = mongoose.Types;
const MINE = new ObjectId('665f1c2ab7e3a90d4c8b1001');
const THEIRS = new ObjectId('665f1c2ab7e3a90d4c8b1002');
const MINE_ARCHIVED = new ObjectId('665f1c2ab7e3a90d4c8b1003');
const THEIRS_ARCHIVED = new ObjectId('665f1c2ab7e3a90d4c8b1004');
const ACTION_NAMES = Object.keys(ACTIONS) as MatrixAction[];

/** What the matrix needs of an application. */
type Host = Pick<TestApp, 'url' | 'database' | 'request' | 'close'>;
let app: Host;

/** A live and an archived record of each tenant, as the store has them. */
function seeds() {
  const shared = { createdAt: new Date(0), updatedAt: new Date(0), __v: 3, secret: HIDDEN };
  const [mine, theirs] = [new ObjectId(ACME), new ObjectId(GLOBEX)];
  const archived = { ...shared, deletedAt: new Date(1) };
  return [
    { _id: MINE, text: 'of acme', tenant: mine, box: { label: 'a', secret: HIDDEN }, ...shared },
    { _id: THEIRS, text: 'of globex', tenant: theirs, ...shared },
    { _id: MINE_ARCHIVED, text: 'old of acme', tenant: mine, ...archived },
    { _id: THEIRS_ARCHIVED, text: 'old of globex', tenant: theirs, ...archived },
  ];
}

/** Collections that are as they were seeded. */
const untouched = new Set<string>();

async function seed({ options: { name } }: MatrixResource) {
  const collection = app.database.collection(name);
  if (!untouched.delete(name)) {
    await collection.deleteMany({});
    await collection.insertMany(seeds());
  }
  return async () => {
    const records = await collection.find().sort({ _id: 1 }).toArray();
    if (isDeepStrictEqual(records, seeds())) untouched.add(name);
    return records;
  };
}

/** Sends the request of an action, on the record of Acme if it needs one. */
function send(resource: MatrixResource, action: MatrixAction, request: TestRequest) {
  const { method } = ACTIONS[action];
  const id = (action === 'restore' ? MINE_ARCHIVED : MINE).toHexString();
  const path = `/${resource.options.name}${resource.pathOf(action).replace(':id', id)}`;
  const isWrite = action === 'create' || action === 'update';
  const headers = { ...(action === 'create' && { Prefer: 'return=representation' }) };
  const full = { ...(isWrite && { body: { text: 'new' } }), headers, ...request };
  return resource.documents(action) ? app.request(method, path, full) : sendUnchecked(method, path, full);
}

/** For routes of plain decorators, whose answers the document does not know. */
const sendUnchecked: Host['request'] = (...request) => sendTo(app.url, ...request);

/** Number of records that an answer counts or lists. */
function sizeOf(body: unknown): number {
  if (Array.isArray(body)) return body.length;
  const { count, results, data } = body as { count?: number; results?: unknown[]; data?: { count: number } };
  return results?.length ?? count ?? data?.count ?? Number.NaN;
}

const of = (owner: string, records: readonly mongoose.mongo.Document[]) =>
  records.filter(({ tenant }) => String(tenant) === owner);

/** What nobody may see of another tenant's, or at all. */
const HIDDEN_FROM_GLOBEX = /of acme|__v|known to the house/;

const WITHOUT_TENANT = [
  [undefined, 401, 'UNAUTHENTICATED'],
  [tokenOf(undefined, { sub: 'nobody' }), 403, 'TENANT_REQUIRED'],
] as const;

const INVALID_BODIES = [
  { text: 'new', tenant: GLOBEX },
  { text: 'new', secret: 'mine' },
  { text: 'new', createdAt: '2026-01-01T00:00:00.000Z' },
  { text: 'new', $set: { tenant: GLOBEX } },
  { text: 5 },
  { text: 'new', box: { secret: 'mine' } },
];

/** Every action of every resource of the matrix, sent by nobody, by another tenant and by its own. */
export function describeIsolation(platform: 'the service' | 'Express' | 'Fastify') {
  // A controller is made for one application.
  const resources = [...matrixResources()].map(([place, resource]) => ({ place, resource }));
  beforeAll(async () => {
    untouched.clear();
    const features = resources.map(({ resource: { options, controller, service } }) =>
      CrudModule.forFeature(options, { controller, service }),
    );
    app =
      platform === 'the service'
        ? await createResourceApp(...features)
        : { ...(await createPlainApp(platform, features)), request: sendUnchecked };
  });
  afterAll(() => app.close());

  describe.each(resources.flatMap((cell) => ACTION_NAMES.map((action) => ({ ...cell, action }))))(
    '$place: $action',
    ({ action, resource }) => {
      it('refuses callers without a tenant, and changes nothing', async () => {
        const stored = await seed(resource);
        for (const [token, status, code] of WITHOUT_TENANT) {
          const response = await send(resource, action, { token });
          expect([response.status, response.body.code]).toEqual([status, code]);
          expect(response.text).not.toMatch(/of acme|of globex|__v|known to the house/);
        }
        expect(await stored()).toEqual(seeds());
      });

      it('shows and changes nothing of another tenant', async () => {
        const stored = await seed(resource);
        const response = await send(resource, action, { token: globex });
        expect(response.text).not.toMatch(HIDDEN_FROM_GLOBEX);
        const after = await stored();
        expect(of(ACME, after)).toEqual(of(ACME, seeds()));
        expect(of(GLOBEX, after)).toHaveLength(action === 'create' ? 3 : 2);
        if (['get', 'update', 'del', 'restore'].includes(action)) expect(response.status).toBe(404);
        else if (action !== 'create') expect(sizeOf(response.body)).toBe(action === 'archived' ? 2 : 1);
      });

      it('serves its own tenant, and shows nothing hidden', async () => {
        const stored = await seed(resource);
        const response = await send(resource, action, { token: acme });
        expect(Math.floor(response.status / 100)).toBe(2);
        expect(response.text).not.toMatch(/of globex|__v|known to the house/);
        if (['list', 'page', 'count'].includes(action)) expect(sizeOf(response.body)).toBe(1);
        if (action === 'archived') expect(sizeOf(response.body)).toBe(2);
        if (action === 'get') expect(response.body).toMatchObject({ text: 'of acme', box: { label: 'a' } });
        const after = await stored();
        expect(of(GLOBEX, after)).toEqual(of(GLOBEX, seeds()));
        const live = of(ACME, after).filter(({ deletedAt }) => !deletedAt);
        const own = live.map(({ text }) => text as string);
        const expected: Partial<Record<MatrixAction, string[]>> = {
          create: ['of acme', 'new'],
          update: ['new'],
          del: [],
          restore: ['of acme', 'old of acme'],
        };
        expect(own).toEqual(expected[action] ?? ['of acme']);
      });

      if (action === 'create' || action === 'update') {
        it('takes no field from a body that is not input, no operator and no value of another type', async () => {
          const stored = await seed(resource);
          for (const body of INVALID_BODIES) {
            const { status, body: problem } = await send(resource, action, { token: acme, body });
            expect([body, status, problem.code]).toEqual([body, 400, 'VALIDATION_FAILED']);
          }
          expect(await stored()).toEqual(seeds());
        });
      }
    },
  );

  // An own route in the place of the list has no queries in bodies.
  describe.each(resources.filter(({ place }) => place !== 'CrudAction · override'))(
    '$place: queries in bodies',
    ({ resource }) => {
      it.each([
        ['QUERY', ''],
        ['POST', '/query'],
      ])('%s is isolated as the list is', async (method, below) => {
        await seed(resource);
        const ask = (token: string | undefined, body: object) =>
          sendUnchecked(method, `/${resource.options.name}${below}`, { token, body });
        for (const [token, status] of WITHOUT_TENANT) expect((await ask(token, {})).status).toBe(status);
        for (const body of [{}, { limit: 50 }, { archived: 'include' }]) {
          const { text, body: answered } = await ask(globex, body);
          expect(text).not.toMatch(HIDDEN_FROM_GLOBEX);
          expect(sizeOf(answered)).toBe('archived' in body ? 2 : 1);
        }
      });
    },
  );
}
