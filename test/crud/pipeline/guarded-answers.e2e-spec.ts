import { UseGuards } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { CrudController, CrudModule, type TenantScope } from '../../../src/index.js';
import * as guarded from '../../support/guarded-app.js';
import type { Outline } from '../../support/resource.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, tokenOf } from '../../support/tenants.js';

const [admin, member] = [tokenOf(ACME, { role: 'admin' }), tokenOf(ACME, { sub: 'ada' })];

const { AdminGuard, adminsByRole, adminsOnly, forbidden, selfOnly } = guarded;
const owned = (outline: Outline) =>
  guarded.owned({ query: { filter: ['name'], search: ['name'] }, bulk: true, ...outline });
const ledgers = owned({ name: 'ledgers', routes: { get: adminsByRole } });
const invoices = owned({ name: 'invoices', routes: { get: forbidden } });
const memos = owned({ name: 'memos', routes: { list: forbidden, count: forbidden } });

@UseGuards(guarded.RolesGuard)
class LedgersController extends CrudController(ledgers) {}

class InvoicesController extends CrudController(invoices) {
  @UseGuards(AdminGuard)
  override get(scope: TenantScope, id: string) {
    return super.get(scope, id, {});
  }
}

@UseGuards(guarded.SelfGuard)
class MemosController extends CrudController(memos) {}

/** Hides one record from everybody. */
const VaultGuard = guarded.guardBy((context) => {
  const { params } = context.switchToHttp().getRequest<FastifyRequest<{ Params: { id: string } }>>();
  return params.id !== '665f1c2ab7e3a90d4c8bffff';
});

const app = useResourceApp(
  CrudModule.forFeature(ledgers, { controller: LedgersController }),
  CrudModule.forFeature(invoices, { controller: InvoicesController, providers: [AdminGuard] }),
  CrudModule.forFeature(memos, { controller: MemosController }),
  ...[
    owned({ name: 'reports', routes: { get: adminsOnly } }),
    owned({ name: 'people', routes: { get: selfOnly } }),
    owned({ name: 'vaults', routes: { get: { guards: [VaultGuard], ...forbidden } } }),
    owned({ name: 'posters', routes: { get: adminsOnly, list: { guards: [] }, count: { guards: [] } } }),
    owned({ name: 'surveys', routes: { get: adminsOnly, count: { guards: [] } } }),
    owned({ name: 'badges', routes: { update: selfOnly } }),
    owned({ name: 'notices', routes: { create: adminsOnly } }),
    owned({
      name: 'salaries',
      query: {},
      output: (record, { claims }) => (claims.role === 'admin' ? record : { ...record, name: 'hidden' }),
    }),
  ].map((options) => CrudModule.forFeature(options)),
);
beforeEach(() => app.empty());

const WHOLE = { 'Idempotency-Key': 'k1', Prefer: 'return=representation' };

describe('the guards of get', () => {
  const READS = ['', '?limit=1', '?q=a', '?name=A', '/count', '/count?name=A'];
  const of = (status: number) => [...READS, 'NDJSON', 'HEAD'].map(() => status);
  const withOwnCount = [403, 403, 403, 403, 200, 200, 403, 403];

  it.each([
    ['those of the option', 'reports', of(403), of(200)],
    ['those of the controller, by a decorator of the option', 'ledgers', of(403), of(200)],
    ['those of an override', 'invoices', of(403), of(200)],
    ['those of the whole controller, about each route by itself', 'memos', of(403), of(200)],
    ['those that look for the identifier, which refuse a list', 'people', of(403), of(200)],
    ['those that refuse one identifier', 'vaults', of(403), of(403)],
    ['not about lists and counts that have their own', 'posters', of(200), of(200)],
    ['not about counts that have their own', 'surveys', withOwnCount, of(200)],
  ])('decide about lists, pages, searches and counts: %s', async (_guards, name, ofMember, ofAdmin) => {
    await app.post(`/${name}`, { name: 'A' }, { token: admin });
    for (const [token, expected] of [
      [member, ofMember],
      [admin, ofAdmin],
    ] as const) {
      const answers = await Promise.all([
        ...READS.map((read) => app.get(`/${name}${read}`, { token })),
        app.get(`/${name}`, { token, headers: { Accept: 'application/x-ndjson' } }),
        app.request('HEAD', `/${name}`, { token }),
      ]);
      expect(answers.map(({ status }) => status)).toEqual(expected);
    }
  });

  it('of the application decide about them and replays of whole records, too', async () => {
    await using global = await guarded.createGloballyGuardedApp();
    const paths = ['/topics', '/topics?limit=1', '/topics/count', '/notes'];
    const replies: object[] = [];
    for (const [role, status] of [
      ['admin', 200],
      ['member', 403],
      ['admin', 200],
    ] as const) {
      const headers = { ...WHOLE, 'X-Role': role };
      replies.push((await global.post('/topics', { name: 'T' }, { headers })).body as object);
      const answers = await Promise.all(paths.map((path) => global.get(path, { headers })));
      expect(answers.map((answer) => answer.status)).toEqual([status, status, status, 200]);
    }
    const [whole, hidden, again] = replies as [{ _id: string }, object, object];
    expect(whole).toMatchObject({ name: 'T' });
    expect([hidden, again]).toEqual([{ _id: whole._id }, whole]);
  });
});

async function post(path: string, body: object, token: string) {
  const { status, headers, body: got } = await app.post(path, body, { token, headers: WHOLE });
  return { status, body: got as unknown, isReplay: headers.get('idempotency-replayed') === 'true', headers };
}

describe('a replay of a whole record', () => {
  it('goes to those alone whom the guards of get let; the others get its identifier', async () => {
    const first = await post('/reports', { name: 'A' }, admin);
    expect(first.body).toMatchObject({ name: 'A' });
    const { _id } = first.body as { _id: string };
    const hidden = await post('/reports', { name: 'A' }, tokenOf(ACME));
    expect([hidden.status, hidden.isReplay, hidden.body]).toEqual([201, true, { _id }]);
    expect(hidden.headers.get('preference-applied')).toBeNull();
    for (const name of ['location', 'etag']) expect(hidden.headers.get(name)).toBe(first.headers.get(name));
    await app.del(`/reports/${_id}`, { token: admin });
    const again = await post('/reports', { name: 'A' }, admin);
    expect([again.isReplay, again.body]).toEqual([true, first.body]);
  });

  it('goes to no one who has lost the role, or to whom the record would look different', async () => {
    for (const path of ['/reports', '/salaries']) {
      const { body } = await post(path, { name: 'A' }, tokenOf(ACME, { sub: 'ada', role: 'admin' }));
      const { _id } = body as { _id: string };
      const hidden = await post(path, { name: 'A' }, member);
      expect([hidden.isReplay, hidden.body]).toEqual([true, { _id }]);
      const renewed = tokenOf(ACME, { role: 'admin', sub: 'ada', jti: 'another', auth_time: 1 });
      const again = await post(path, { name: 'A' }, renewed);
      expect([again.isReplay, again.body]).toEqual([true, body]);
    }
  });
});

describe('a replay of a bulk', () => {
  it('has a 403 for each item that the guards of its route refuse now', async () => {
    const _id = await app.create('/notices', { name: 'A' }, admin);
    const operations = [{ create: { name: 'B' } }, { update: { _id, changes: { name: 'C' } } }, {}];
    const first = await post('/notices/bulk', { operations }, admin);
    const { results } = first.body as { results: object[] };
    expect(results).toMatchObject([{ status: 201 }, { status: 200 }, { status: 400 }]);
    const replay = await post('/notices/bulk', { operations }, tokenOf(ACME));
    expect([replay.status, replay.isReplay]).toEqual([200, true]);
    const refused = expect.objectContaining({ status: 403, code: 'FORBIDDEN', instance: '/notices' });
    expect(replay.body).toEqual({ results: [refused, ...results.slice(1)] });
    expect((await post('/notices/bulk', { operations }, admin)).body).toEqual(first.body);
  });

  it('is decided record by record where the guard looks at the identifier', async () => {
    const badge = () => app.create('/badges', { name: 'Ada' }, admin);
    const ids = [await badge(), await badge()];
    const operations = ids.map((_id) => ({ update: { _id, changes: { name: 'X' } } }));
    const send = async (role?: string) => {
      const { body } = await post('/badges/bulk', { operations }, tokenOf(ACME, { sub: ids[0], role }));
      return (body as { results: { status: number }[] }).results.map(({ status }) => status);
    };
    expect(await send('admin')).toEqual([200, 200]);
    expect(await send()).toEqual([200, 403]);
    expect(await send('admin')).toEqual([200, 200]);
  });
});
