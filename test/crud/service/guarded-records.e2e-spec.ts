import { createGloballyGuardedApp, createGuardedApp } from '../../support/guarded-app.js';
import { expectInvalid, expectProblem } from '../../support/problems.js';
import { each } from '../../support/records.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';
import { useApp } from '../../support/test-app.js';
import { postWhole } from '../../support/whole-records.js';

const [admin, member] = [tokenOf(ACME, { role: 'admin' }), tokenOf(ACME)];

const NOWHERE = '665f1c2ab7e3a90d4c8bffff';
const WHOLE = { Prefer: 'return=representation' };

const app = useApp(createGuardedApp);
const global = useApp(createGloballyGuardedApp);
beforeEach(() => app.empty());

const created = (path: string, body: object = { name: 'A' }) => app.create(path, body, admin);
const fault = (field: string, label = field, pointer = `/${field}`) => ({
  pointer,
  detail: `"${field}" names no ${label} that you can use.`,
});

describe('a reference to a record that guards hide from the caller', () => {
  it.each(['dossier', 'ledger'])('in %ss answers as if the record were not there', async (field) => {
    const id = await created(`/${field}s`);
    const known = `/cases/${await created('/cases')}`;
    const body = { name: 'C', [field]: id };
    for (const one of [body, { ...body, [field]: NOWHERE }]) {
      expectInvalid(await app.post('/cases', one, { token: member }), '/cases', fault(field));
      expectInvalid(await app.patch(known, one, { token: member }), known, fault(field));
    }
    expect((await app.post('/cases', body, { token: admin })).status).toBe(201);
    expect((await app.patch(known, body, { token: admin })).status).toBe(200);
  });

  it('is refused in a bulk and an import, too', async () => {
    const body = { name: 'C', dossier: await created('/dossiers') };
    const statuses = async (token: string) => {
      const bulk = await app.post('/cases/bulk', { operations: [{ create: body }] }, { token });
      const headers = { 'Content-Type': 'application/x-ndjson' };
      const imported = await app.post('/cases/import', `${JSON.stringify(body)}\n`, { headers, token });
      return [bulk.body.results[0].status, imported.body[0].status] as unknown[];
    };
    expect(await statuses(member)).toEqual([400, 400]);
    expect(await statuses(admin)).toEqual([201, 201]);
  });

  it('is decided record by record where the guard looks at the identifier', async () => {
    const [ada, bob, eve] = [await created('/people'), await created('/people'), await created('/people')];
    const token = tokenOf(ACME, { sub: bob });
    const refused = await app.post('/cases', { name: 'C', people: [bob, ada, eve] }, { token });
    const faults = ['/people/1', '/people/2'].map((pointer) => fault('people', 'person', pointer));
    expectInvalid(refused, '/cases', ...faults);
    await app.create('/cases', { name: 'C', people: [bob] }, token);
    const id = await created('/cases', { name: 'C', people: [ada, bob, eve] });
    const shown = await app.get(`/cases/${id}?expand=people`, { token });
    expect(shown.body.people).toEqual([ada, expect.objectContaining({ _id: bob }), eve]);
  });

  it.each([
    ['no route reads it', 'draft'],
    ['the guard cannot tell', 'riddle'],
  ])('is refused to everybody if %s', async (_why, field) => {
    const body = { name: 'C', [field]: await created(`/${field}s`) };
    expectInvalid(await app.post('/cases', body, { token: admin }), '/cases', fault(field));
  });
});

describe('an expanded reference', () => {
  it('stays an identifier where a route of its own takes the place of get', async () => {
    const sketch = await created('/sketches');
    const id = await created('/cases', { name: 'C', sketch });
    expect((await app.get(`/cases/${id}?expand=sketch`, { token: member })).body).toMatchObject({ sketch });
  });

  it('shows a guarded record to those alone who may get it', async () => {
    const [dossier, ledger] = [await created('/dossiers'), await created('/ledgers')];
    const id = await created('/cases', { name: 'C', dossier, ledger });
    for (const path of [`/cases/${id}?expand=dossier,ledger`, '/cases?expand=dossier,ledger']) {
      const seen = async (token: string) => [(await app.get(path, { token })).body].flat() as unknown;
      expect(await seen(member)).toMatchObject([{ dossier, ledger }]);
      expect(await seen(admin)).toMatchObject([{ dossier: { name: 'A' }, ledger: { name: 'A' } }]);
    }
  });
});

describe('an answer to a write with return=representation', () => {
  it.each(['dossiers', 'ledgers'])('of %s has the record for those alone who may get it', async (name) => {
    const hidden = await postWhole(app, `/${name}`, { name: 'A' }, member);
    expect([hidden.status, Object.keys(hidden.body as object)]).toEqual([201, ['_id']]);
    expect(hidden.headers.get('preference-applied')).toBeNull();
    expect((await postWhole(app, `/${name}`, { name: 'A' }, admin)).body).toMatchObject({ name: 'A' });
    const path = `/${name}/${hidden.body._id as string}`;
    const patched = await app.patch(path, {}, { token: member, headers: WHOLE });
    expect([patched.status, patched.body]).toEqual([200, { updated: true }]);
    expect(patched.headers.get('preference-applied')).toBeNull();
    const shown = await app.patch(path, {}, { token: admin, headers: WHOLE });
    expect(shown.body).toMatchObject({ name: 'A', tenant: ACME });
    expect(shown.headers.get('preference-applied')).toBe('return=representation');
  });

  it.each(['drafts', 'sketches'])('has no record of %s, whose get is disabled', async (name) => {
    const { body } = await postWhole(app, `/${name}`, { name: 'A' }, admin);
    const patched = await app.patch(`/${name}/${body._id as string}`, {}, { token: admin, headers: WHOLE });
    expect([Object.keys(body as object), patched.body]).toEqual([['_id'], { updated: true }]);
  });

  it('has no record that the isolation of get keeps from the caller', async () => {
    const [ada, bob] = [tokenOf(ACME, { sub: 'ada' }), tokenOf(ACME, { sub: 'bob' })];
    const { body } = await postWhole(app, '/diaries', { name: 'Mine' }, ada);
    expect(body).toMatchObject({ name: 'Mine', owner: 'ada' });
    const path = `/diaries/${body._id as string}`;
    const answers = [ada, bob, admin].map((token) => app.patch(path, {}, { token, headers: WHOLE }));
    const shown = [expect.objectContaining({ name: 'Mine' }), { updated: true }, { updated: true }];
    expect((await Promise.all(answers)).map((answer) => answer.body as unknown)).toEqual(shown);
  });
});

it('records below a guarded parent are there for those alone who may get it; one that no route reads is no bar', async () => {
  const path = `/dossiers/${await created('/dossiers')}/pages`;
  const page = `${path}/${await created(path)}`;
  expect((await app.get(page, { token: admin })).status).toBe(200);
  for (const at of [page, `${path}?limit=1`]) expect((await app.get(at, { token: member })).status).toBe(404);
  expect((await app.post(path, { name: 'P' }, { token: member })).status).toBe(404);
  const remarks = `/drafts/${await created('/drafts')}/remarks`;
  expect((await app.get(`${remarks}/${await created(remarks)}`, { token: member })).status).toBe(200);
});

it('a guard of the whole application decides by what the get of the record declares', async () => {
  const asAdmin = { headers: { 'X-Role': 'admin' } };
  const topic = await global.create('/topics', { name: 'T' });
  expectInvalid(await global.post('/notes', { name: 'N', topic }), '/notes', fault('topic'));
  expect((await global.post('/notes', { name: 'N', topic }, asAdmin)).status).toBe(201);
  const expanded = [
    await global.get('/notes?expand=topic'),
    await global.get('/notes?expand=topic', asAdmin),
  ];
  expect(each(expanded, 'body')).toMatchObject([[{ topic }], [{ topic: { name: 'T' } }]]);
  const changed = await global.patch(`/topics/${topic}`, {}, { headers: WHOLE });
  expect(changed.body).toEqual({ updated: true });
});

describe('a restore is open to those alone whom the guards let', () => {
  /** Path of a record that an administrator has archived. */
  async function archivedPath(name: string): Promise<string> {
    const path = `/${name}/${await created(`/${name}`)}`;
    expect((await app.del(path, { token: admin })).status).toBe(200);
    return path;
  }
  const restore = (path: string, token: string) => app.post(`${path}/restore`, undefined, { token });

  it.each([
    ['update and delete', 'letters'],
    ['delete', 'parcels'],
    ['update, by a decorator of the override', 'invoices'],
  ])('%s', async (_guarded, name) => {
    const path = await archivedPath(name);
    const refusal = { status: 403, code: 'FORBIDDEN', title: 'Forbidden', detail: 'Forbidden resource' };
    expectProblem(await restore(path, member), { ...refusal, instance: `${path}/restore` });
    expect((await app.get(path, { token: admin })).status).toBe(404);
    expect((await restore(path, tokenOf(GLOBEX, { role: 'admin' }))).status).toBe(404);
    expect((await restore(path, admin)).body).toEqual({ restored: true });
    expect((await app.get(path, { token: member })).status).toBe(200);
  });

  it('unless the route has guards of its own', async () => {
    expect((await restore(await archivedPath('cards'), member)).status).toBe(200);
  });
});
