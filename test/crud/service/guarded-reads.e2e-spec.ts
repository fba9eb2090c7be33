import { createGloballyGuardedApp, createGuardedApp } from '../../support/guarded-app.js';
import { expectInvalid } from '../../support/problems.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { useApp } from '../../support/test-app.js';
import { postWhole } from '../../support/whole-records.js';

const [admin, member] = await Promise.all([tokenOf(ACME, { role: 'admin' }), tokenOf(ACME)]);

const NOWHERE = '665f1c2ab7e3a90d4c8bffff';
const WHOLE = { Prefer: 'return=representation' };

const app = useApp(createGuardedApp);
beforeEach(() => app.empty());

async function created(path: string, body: object = { name: 'A' }): Promise<string> {
  const answer = await app.post(path, body, { token: admin });
  expect(answer.status).toBe(201);
  return answer.body._id as string;
}

describe('a reference to a record that guards hide from the caller', () => {
  it.each([
    ['dossiers', 'dossier'],
    ['ledgers', 'ledger'],
  ])('in %s answers as if the record were not there', async (name, field) => {
    const id = await created(`/${name}`);
    const bodies = [id, NOWHERE].map((one) => ({ name: 'C', [field]: one }));
    const texts: string[] = [];
    const known = await created('/cases');
    for (const [method, path] of [
      ['POST', '/cases'],
      ['PATCH', `/cases/${known}`],
    ] as const) {
      for (const body of bodies) {
        const answer = await app.request(method, path, { body, token: member });
        expectInvalid(answer, path, {
          pointer: `/${field}`,
          detail: `"${field}" names no ${field} that you can use.`,
        });
        texts.push(answer.text.replaceAll(/"requestId":"[^"]*"/g, ''));
      }
      expect(texts[0]).toBe(texts[1]);
      texts.length = 0;
    }
    expect((await app.post('/cases', bodies[0], { token: admin })).status).toBe(201);
    expect((await app.patch(`/cases/${known}`, bodies[0] ?? {}, { token: admin })).status).toBe(200);
  });

  it('is refused in a bulk and an import, too', async () => {
    const dossier = await created('/dossiers');
    const body = { operations: [{ create: { name: 'C', dossier } }] };
    const statuses = async (token: string) => {
      const bulk = await app.post('/cases/bulk', body, { token });
      const lines = `${JSON.stringify({ name: 'C', dossier })}\n`;
      const headers = { 'Content-Type': 'application/x-ndjson' };
      const imported = await app.request('POST', '/cases/import', { body: lines, headers, token });
      return [bulk.body.results[0].status, imported.body[0].status] as unknown[];
    };
    expect(await statuses(member)).toEqual([400, 400]);
    expect(await statuses(admin)).toEqual([201, 201]);
  });

  it('is decided record by record where the guard looks at the identifier', async () => {
    const [ada, bob, eve] = [await created('/people'), await created('/people'), await created('/people')];
    const token = await tokenOf(ACME, { sub: bob });
    const send = (people: readonly string[], by: string) =>
      app.post('/cases', { name: 'C', people }, { token: by });
    expectInvalid(
      await send([bob, ada, eve], token),
      '/cases',
      { pointer: '/people/1', detail: '"people" names no person that you can use.' },
      { pointer: '/people/2', detail: '"people" names no person that you can use.' },
    );
    expect((await send([bob], token)).status).toBe(201);
    const { status, body } = await send([ada, bob, eve], admin);
    expect(status).toBe(201);
    const shown = await app.get(`/cases/${body._id as string}?expand=people`, { token });
    expect(shown.body.people).toEqual([ada, expect.objectContaining({ _id: bob }), eve]);
  });

  it('is refused to everybody if no route reads it, or if the guard cannot tell', async () => {
    for (const [field, name] of [
      ['riddle', 'riddles'],
      ['draft', 'drafts'],
    ] as const) {
      const answer = await app.post(
        '/cases',
        { name: 'C', [field]: await created(`/${name}`) },
        { token: admin },
      );
      expectInvalid(answer, '/cases', {
        pointer: `/${field}`,
        detail: `"${field}" names no ${field} that you can use.`,
      });
    }
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
      const seen = async (token: string) => {
        const { body } = await app.get(path, { token });
        return (Array.isArray(body) ? body[0] : body) as unknown;
      };
      expect(await seen(member)).toMatchObject({ dossier, ledger });
      expect(await seen(admin)).toMatchObject({ dossier: { name: 'A' }, ledger: { name: 'A' } });
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
    const [ada, bob] = [await tokenOf(ACME, { sub: 'ada' }), await tokenOf(ACME, { sub: 'bob' })];
    const { body } = await postWhole(app, '/diaries', { name: 'Mine' }, ada);
    expect(body).toMatchObject({ name: 'Mine', owner: 'ada' });
    const path = `/diaries/${body._id as string}`;
    const answers = [ada, bob, admin].map((token) => app.patch(path, {}, { token, headers: WHOLE }));
    expect((await Promise.all(answers)).map((answer) => answer.body as unknown)).toEqual([
      expect.objectContaining({ name: 'Mine' }),
      { updated: true },
      { updated: true },
    ]);
  });
});

describe('records below a guarded parent', () => {
  it('are there for those alone who may get the parent', async () => {
    const path = `/dossiers/${await created('/dossiers')}/pages`;
    const page = `${path}/${await created(path)}`;
    expect((await app.get(page, { token: admin })).status).toBe(200);
    const answers = [
      app.get(page, { token: member }),
      app.get(`${path}?limit=1`, { token: member }),
      app.post(path, { name: 'P' }, { token: member }),
    ];
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([404, 404, 404]);
  });

  it('are there if no route reads the parent', async () => {
    const path = `/drafts/${await created('/drafts')}/remarks`;
    expect((await app.get(`${path}/${await created(path)}`, { token: member })).status).toBe(200);
  });
});

describe('a guard of the whole application', () => {
  it('decides by what the get of the record declares', async () => {
    const global = await createGloballyGuardedApp();
    try {
      const asAdmin = { headers: { 'X-Role': 'admin' } };
      const topic = (await global.post('/topics', { name: 'T' })).body._id as string;
      expectInvalid(await global.post('/notes', { name: 'N', topic }), '/notes', {
        pointer: '/topic',
        detail: '"topic" names no topic that you can use.',
      });
      expect((await global.post('/notes', { name: 'N', topic }, asAdmin)).status).toBe(201);
      expect((await global.get('/notes?expand=topic')).body).toMatchObject([{ topic }]);
      expect((await global.get('/notes?expand=topic', asAdmin)).body).toMatchObject([
        { topic: { name: 'T' } },
      ]);
      expect((await global.patch(`/topics/${topic}`, {}, { headers: WHOLE })).body).toEqual({
        updated: true,
      });
    } finally {
      await global.close();
    }
  });
});
