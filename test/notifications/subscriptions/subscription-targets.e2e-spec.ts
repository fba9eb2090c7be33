import { NotificationsModule } from '../../../src/common/notifications/index.js';
import { PostsModule } from '../../../src/posts/posts.module.js';
import { expectInvalid } from '../../support/problems.js';
import { resourceRoot } from '../../support/resource-app.js';
import { acme as token } from '../../support/tenants.js';
import { createTestApp, type TestAppOptions } from '../../support/test-app.js';
import { HOOK, SUBSCRIPTIONS as PATH } from '../../support/webhooks.js';

const NOT_HTTPS = 'The URL must be an https URL.';
const NOT_PUBLIC = 'The URL must lead to a public address.';
const [PRIVATE, HTTP, HTTPS] = [
  'http://127.0.0.1:9/hook',
  'http://93.184.215.14:8080',
  'https://93.184.215.14',
];

/** What the checks say of each kind of URL is shown in webhook-targets.spec.ts. */
describe('the target of a subscription', () => {
  it.each<[string, TestAppOptions, string[], [string, string][]]>([
    [
      'must be public, and a name is refused in the same words whether it is internal or unknown',
      { env: { WEBHOOK_ALLOW_PRIVATE: 'false' } },
      [HTTP, HTTPS],
      [PRIVATE, 'http://localhost:3000', 'https://nowhere.invalid'].map((url) => [url, NOT_PUBLIC]),
    ],
    [
      'may be private if WEBHOOK_ALLOW_PRIVATE is set',
      { env: { WEBHOOK_ALLOW_PRIVATE: 'true' } },
      [PRIVATE],
      [],
    ],
    ['must be https in production', { env: { NODE_ENV: 'production' } }, [HTTPS], [[HTTP, NOT_HTTPS]]],
    [
      'must be https and public if an application says nothing of targets',
      {
        root: (environment, database) =>
          resourceRoot(environment, database, [PostsModule, NotificationsModule.forRoot({ worker: false })]),
      },
      [HTTPS],
      [
        [HTTP, NOT_HTTPS],
        ['https://127.0.0.1:9/hook', NOT_PUBLIC],
      ],
    ],
  ])('%s', async (_what, { env, root }, taken, refused) => {
    const app = await createTestApp({ root, env: { WORKER: 'off', ...env } });
    for (const url of taken) {
      const { status, body } = await app.post(PATH, { ...HOOK, url }, { token });
      expect(status).toBe(201);
      for (const [other, detail] of refused) {
        const fault = { pointer: '/url', detail };
        expectInvalid(await app.post(PATH, { ...HOOK, url: other }, { token }), PATH, fault);
        const path = `${PATH}/${body._id}`;
        expectInvalid(await app.patch(path, { url: other }, { token }), path, fault);
        expect((await app.get(path, { token })).body.url).toBe(url);
      }
    }
    await app.close();
  });
});
