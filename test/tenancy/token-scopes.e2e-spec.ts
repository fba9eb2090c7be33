import { ExamplesModule } from '../../examples/examples.module.js';
import { expectProblem } from '../support/problems.js';
import { ACME, tokenOf } from '../support/tenants.js';
import { createTestApp, type TestApp, useTestApp } from '../support/test-app.js';

const PATH = '/posts/api';

const write = (app: TestApp, token: string) => app.post(PATH, { title: 'Release notes' }, { token });

describe('a configured scope', () => {
  const app = useTestApp({ env: { JWT_SCOPE: 'posts:write' } });
  beforeEach(() => app.empty());

  it.each<object>([
    { scope: 'posts:write' },
    { scope: 'openid posts:write' },
    { scp: ['openid', 'posts:write'] },
    { scp: 'posts:write' },
  ])('lets a token write that has %j', async (claims) => {
    expect((await write(app, tokenOf(ACME, { ...claims }))).status).toBe(201);
  });

  it.each<object>([
    {},
    { scope: '' },
    { scope: 'posts:read' },
    { scope: 'posts:write:none' },
    { scope: { includes: 'posts:write' } },
    { scope: 'posts:read', scp: 'posts:write' },
    { scp: [['posts:write']] },
  ])('refuses a token that has %j, also for reads that need a token', async (claims) => {
    const token = tokenOf(ACME, { ...claims });
    const detail = 'The token must have the scope "posts:write". Ask the issuer for one with it.';
    const challenge = 'Bearer error="insufficient_scope", scope="posts:write"';
    for (const target of [PATH, '/subscriptions', '/events', `${PATH}?archived=only`]) {
      const answer = target === PATH ? await write(app, token) : await app.get(target, { token });
      const instance = target.replace(/\?.*/, '');
      expectProblem(answer, { status: 403, code: 'INSUFFICIENT_SCOPE', detail, instance });
      expect(answer.headers.get('www-authenticate')).toBe(challenge);
    }
    expect((await app.get(PATH)).body).toEqual([]);
  });
});

it('a configured scope applies to the examples, too', async () => {
  await using app = await createTestApp({ env: { JWT_SCOPE: 'shop' }, root: ExamplesModule.forRoot });
  const count = (scope: string) => app.get('/categories/count', { token: tokenOf(ACME, { scope }) });
  expect(await count('')).toMatchObject({ status: 403, body: { code: 'INSUFFICIENT_SCOPE' } });
  expect((await count('shop')).status).toBe(200);
});
