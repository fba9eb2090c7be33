/** @mongodb */
import { createResourceApp } from '../../test/support/resource-app.js';
import { ACME, tokenOf } from '../../test/support/tenants.js';
import type { TestApp } from '../../test/support/test-app.js';
import { ProfileModule } from './profile.module.js';

describe('the profile', () => {
  let app: TestApp;
  const ada = { token: '' };
  const bob = { token: '' };
  beforeAll(async () => {
    app = await createResourceApp(ProfileModule);
    [ada.token, bob.token] = [await tokenOf(ACME, { sub: 'ada' }), await tokenOf(ACME, { sub: 'bob' })];
  });
  afterAll(() => app.close());
  beforeEach(() => app.empty());

  it('is there at first use, once, however many ask for it at once', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => app.get('/profile', ada)));
    const ids = new Set(answers.map(({ body }) => body._id as string));
    expect(ids.size).toBe(1);
    expect(answers[0]?.body).toMatchObject({ owner: 'ada', newsletter: false });
  });

  it('is that of the caller', async () => {
    await app.patch('/profile', { name: 'Ada' }, ada);
    expect((await app.get('/profile', bob)).body).not.toHaveProperty('name');
    expect((await app.get('/profile', ada)).body).toMatchObject({ name: 'Ada', owner: 'ada' });
    expect((await app.get('/profile')).status).toBe(401);
  });

  it('loses a field that is null', async () => {
    await app.patch('/profile', { name: 'Ada', newsletter: true }, ada);
    expect((await app.patch('/profile', { name: null }, ada)).body).not.toHaveProperty('name');
  });

  it('is not changed by somebody who has not seen its last change', async () => {
    const seen = (await app.get('/profile', ada)).headers.get('etag') ?? '';
    const first = await app.patch('/profile', { name: 'Ada' }, { ...ada, headers: { 'if-match': seen } });
    expect([first.status, first.headers.get('etag') === seen]).toEqual([200, false]);
    const stale = await app.patch('/profile', { name: 'Eve' }, { ...ada, headers: { 'if-match': seen } });
    expect([stale.status, stale.body.code]).toEqual([412, 'PRECONDITION_FAILED']);
    expect((await app.get('/profile', ada)).body.name).toBe('Ada');
  });

  it('is not sent to somebody who has it', async () => {
    const seen = (await app.get('/profile', ada)).headers.get('etag') ?? '';
    const again = await app.get('/profile', { ...ada, headers: { 'if-none-match': seen } });
    expect([again.status, again.text]).toEqual([304, '']);
  });

  it('takes what its input class says, and nothing else', async () => {
    const answer = await app.patch('/profile', { nickname: 'A', newsletter: 'yes' }, ada);
    expect(answer.status).toBe(400);
    expect(answer.body.errors).toMatchObject([{ pointer: '/nickname' }, { pointer: '/newsletter' }]);
  });
});
