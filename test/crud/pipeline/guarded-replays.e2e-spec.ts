import { currentTenant } from '../../../src/common/tenancy/index.js';
import { AdminGuard, createGloballyGuardedApp, SelfGuard } from '../../support/guarded-app.js';
import { useResourceApp } from '../../support/resource-app.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { feature, type Outline } from '../../support/resource.js';
import { IsText, IsIdentifier } from '../../../src/common/fields/index.js';

const [admin, member] = await Promise.all([tokenOf(ACME, { role: 'admin' }), tokenOf(ACME)]);

const adminsOnly = { guards: [AdminGuard], errors: [403] };
const owned = (outline: Outline) =>
  feature({
    fields: { name: IsText({ max: 100 }) },
    kept: { tenant: IsIdentifier() },
    isolationFields: { all: { tenant: currentTenant } },
    bulk: true,
    ...outline,
  });

const app = useResourceApp(
  owned({ name: 'reports', routes: { get: adminsOnly } }),
  owned({ name: 'people', routes: { update: { guards: [SelfGuard], errors: [403] } } }),
  owned({ name: 'posters', routes: { create: adminsOnly } }),
  owned({
    name: 'salaries',
    output: (record, { claims }) => (claims.role === 'admin' ? record : { ...record, name: 'hidden' }),
  }),
);
beforeEach(() => app.empty());

const WHOLE = { 'Idempotency-Key': 'k1', Prefer: 'return=representation' };

async function post(path: string, body: object, token: string) {
  const answer = await app.post(path, body, { token, headers: WHOLE });
  const { status, headers } = answer;
  return {
    status,
    body: answer.body as unknown,
    isReplay: headers.get('idempotency-replayed') === 'true',
    headers,
  };
}

describe('a replay of a whole record', () => {
  it('goes to those alone whom the guards of get let; the others get its identifier', async () => {
    const first = await post('/reports', { name: 'A' }, admin);
    expect(first.body).toMatchObject({ name: 'A' });
    const { _id } = first.body as { _id: string };
    const hidden = await post('/reports', { name: 'A' }, member);
    expect([hidden.status, hidden.isReplay, hidden.body]).toEqual([201, true, { _id }]);
    expect(hidden.headers.get('preference-applied')).toBeNull();
    for (const name of ['location', 'etag']) expect(hidden.headers.get(name)).toBe(first.headers.get(name));
    await app.del(`/reports/${_id}`, { token: admin });
    const again = await post('/reports', { name: 'A' }, admin);
    expect([again.isReplay, again.body]).toEqual([true, first.body]);
  });

  it('goes to no one who has lost the role, or to whom the record would look different', async () => {
    const [boss, former] = [
      await tokenOf(ACME, { sub: 'ada', role: 'admin' }),
      await tokenOf(ACME, { sub: 'ada' }),
    ];
    for (const path of ['/reports', '/salaries']) {
      const { body } = await post(path, { name: 'A' }, boss);
      const { _id } = body as { _id: string };
      const hidden = await post(path, { name: 'A' }, former);
      expect([hidden.isReplay, hidden.body]).toEqual([true, { _id }]);
      const renewed = await tokenOf(ACME, { role: 'admin', sub: 'ada', jti: 'another', auth_time: 1 });
      const again = await post(path, { name: 'A' }, renewed);
      expect([again.isReplay, again.body]).toEqual([true, body]);
    }
  });

  it('is decided by guards of the application, too', async () => {
    const global = await createGloballyGuardedApp();
    try {
      const send = (role: string) =>
        global.post('/topics', { name: 'T' }, { headers: { ...WHOLE, 'X-Role': role } });
      const { body } = await send('admin');
      expect(body).toMatchObject({ name: 'T' });
      expect((await send('member')).body).toEqual({ _id: body._id as string });
      expect((await send('admin')).body).toEqual(body);
    } finally {
      await global.close();
    }
  });
});

describe('a replay of a bulk', () => {
  it('has a 403 for each item that the guards of its route refuse now', async () => {
    const { _id } = (await app.post('/posters', { name: 'A' }, { token: admin })).body as { _id: string };
    const operations = [{ create: { name: 'B' } }, { update: { _id, changes: { name: 'C' } } }, {}];
    const first = await post('/posters/bulk', { operations }, admin);
    const { results } = first.body as { results: object[] };
    expect(results).toMatchObject([{ status: 201 }, { status: 200 }, { status: 400 }]);
    const replay = await post('/posters/bulk', { operations }, member);
    expect([replay.status, replay.isReplay]).toEqual([200, true]);
    const refused = expect.objectContaining({ status: 403, code: 'FORBIDDEN', instance: '/posters' });
    expect(replay.body).toEqual({ results: [refused, ...results.slice(1)] });
    expect((await post('/posters/bulk', { operations }, admin)).body).toEqual(first.body);
  });

  it('is decided record by record where the guard looks at the identifier', async () => {
    const ids: string[] = [];
    for (const name of ['Ada', 'Bob'])
      ids.push((await app.post('/people', { name }, { token: admin })).body._id as string);
    const operations = ids.map((_id) => ({ update: { _id, changes: { name: 'X' } } }));
    const sub = ids[0] ?? '';
    const send = async (role?: string) => {
      const { body } = await post('/people/bulk', { operations }, await tokenOf(ACME, { sub, role }));
      return (body as { results: { status: number }[] }).results.map(({ status }) => status);
    };
    expect([await send('admin'), await send(), await send('admin')]).toEqual([
      [200, 200],
      [200, 403],
      [200, 200],
    ]);
  });
});
