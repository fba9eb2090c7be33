import { scryptSync } from 'node:crypto';
import {
  expectInvalid,
  expectNotFound,
  expectProblem,
  expectUnauthenticated,
} from '../../test/support/problems.js';
import { useResourceApp } from '../../test/support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../test/support/tenants.js';
import { ID, postWhole } from '../../test/support/whole-records.js';
import { UsersModule } from './users.module.js';

const [admin, member, globex] = await Promise.all([
  tokenOf(ACME, { role: 'admin' }),
  tokenOf(ACME, { role: 'member' }),
  tokenOf(GLOBEX, { role: 'admin' }),
]);

const ADA = { email: 'Ada@Example.com', name: 'Ada Lovelace', password: 'correct horse battery' };

describe('users', () => {
  const app = useResourceApp(UsersModule);
  beforeEach(() => app.empty());

  const createdId = async (body: object = ADA, token = admin) =>
    (await app.post('/users', body, { token })).body._id as string;
  const self = (id: string) => tokenOf(ACME, { sub: id });
  const forbidden = (instance: string, detail: string) => ({
    status: 403,
    code: 'FORBIDDEN',
    title: 'Forbidden',
    detail,
    instance,
  });

  /** Whether the hash in the database is the one of a password. */
  async function isPassword(password: string): Promise<boolean> {
    const stored = await app.database.collection('users').findOne();
    const [, salt = '', key] = String(stored?.passwordHash).split(':');
    return scryptSync(password, Buffer.from(salt, 'base64'), 64).toString('base64') === key;
  }

  it('are shown as their view says, and never with a password', async () => {
    const { status, body } = await postWhole(app, '/users', ADA, admin);
    const ada = { _id: ID, email: 'ada@example.com', name: 'Ada Lovelace', role: 'member', initials: 'AL' };
    expect(status).toBe(201);
    expect(body).toEqual(ada);
    expect((await app.get(`/users/${body._id}`, { token: member })).body).toEqual(ada);
    expect((await app.get('/users', { token: member })).body).toEqual([ada]);
    expect((await app.get('/users?limit=1', { token: member })).body).toEqual({
      results: [ada],
      count: 1,
      next: null,
      prev: null,
    });
  });

  it('have a hash of their password in the database, and nothing else of it', async () => {
    const id = await createdId();
    expect(await isPassword(ADA.password)).toBe(true);
    expect(JSON.stringify(await app.database.collection('users').findOne())).not.toContain(ADA.password);
    const changed = await app.patch(
      `/users/${id}`,
      { password: 'a longer passphrase' },
      { token: await self(id) },
    );
    expect(changed.body).toEqual({ updated: true });
    expect(await isPassword('a longer passphrase')).toBe(true);
  });

  it('keep their password when something else changes', async () => {
    const id = await createdId();
    const changes = { name: 'Ada King' };
    expect((await app.patch(`/users/${id}`, changes, { token: admin })).body).toEqual({ updated: true });
    expect(await isPassword(ADA.password)).toBe(true);
    expect((await app.get(`/users/${id}`, { token: admin })).body).toMatchObject({ initials: 'AK' });
  });

  it('sign up with one body and change their profile with another', async () => {
    expectInvalid(
      await app.post(
        '/users',
        { email: 'ada', name: 'Ada', password: 'short', role: 'root' },
        { token: admin },
      ),
      '/users',
      { pointer: '/email', detail: 'email must be an email' },
      { pointer: '/role', detail: '"role" must be one of "member", "admin".' },
      { pointer: '/password', detail: '"password" must be a string of 12 to 200 characters.' },
    );
    const id = await createdId();
    expectInvalid(
      await app.patch(`/users/${id}`, { role: 'admin', password: null }, { token: await self(id) }),
      `/users/${id}`,
      { pointer: '/role', detail: '"role" is not an input field. Allowed: password, name.' },
      { pointer: '/password', detail: '"password" is required and cannot be removed with null.' },
    );
  });

  it('have an e-mail address of their own within the tenant', async () => {
    await createdId();
    const detail = 'A record with the same email exists. Choose another value.';
    expectProblem(await app.post('/users', { ...ADA, email: 'ADA@example.com' }, { token: admin }), {
      status: 409,
      code: 'DUPLICATE_VALUE',
      detail,
      instance: '/users',
      errors: [{ pointer: '/email', detail }],
    });
    expect((await app.post('/users', ADA, { token: globex })).status).toBe(201);
  });

  it('are created and deleted by administrators, and changed by themselves, too', async () => {
    const id = await createdId();
    const path = `/users/${id}`;
    expectProblem(await app.post('/users', ADA, { token: member }), forbidden('/users', 'Only for: admin.'));
    expectProblem(await app.del(path, { token: await self(id) }), forbidden(path, 'Only for: admin.'));
    expectProblem(
      await app.patch(path, { name: 'Mallory' }, { token: member }),
      forbidden(path, 'Only for: admin, self.'),
    );
    expect((await app.get(path, { token: admin })).body.name).toBe('Ada Lovelace');
    expect((await app.del(path, { token: admin })).body).toEqual({ deleted: true });
  });

  it('are there for their tenant only, whatever the role', async () => {
    const path = `/users/${await createdId()}`;
    expectNotFound(await app.get(path, { token: globex }), path, 'User');
    expectNotFound(await app.patch(path, { name: 'Mallory' }, { token: globex }), path, 'User');
    expectNotFound(await app.del(path, { token: globex }), path, 'User');
    expect((await app.get('/users', { token: globex })).body).toEqual([]);
    expectUnauthenticated(await app.get('/users'), '/users');
    expectUnauthenticated(await app.post('/users', ADA), '/users');
    expectUnauthenticated(await app.del(path), path);
  });
});
