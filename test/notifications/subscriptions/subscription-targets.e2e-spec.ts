import type { Variables } from '../../../src/config/index.js';
import { expectInvalid } from '../../support/problems.js';
import { acme as token } from '../../support/tenants.js';
import { createTestApp } from '../../support/test-app.js';
import { HOOK, SUBSCRIPTIONS as PATH } from '../../support/webhooks.js';

const NOT_PUBLIC = 'The URL must lead to a public address.';
const [PRIVATE, HTTP, HTTPS] = [
  'http://127.0.0.1:9/hook',
  'http://93.184.215.14:8080',
  'https://93.184.215.14',
];

/** What the checks say of each kind of URL is shown in webhook-targets.spec.ts. */
describe('the target of a subscription', () => {
  it.each<[string, Variables, string[], [string, string][]]>([
    [
      'must be public, and a name is refused in the same words whether it is internal or unknown',
      { WEBHOOK_ALLOW_PRIVATE: 'false' },
      [HTTP, HTTPS],
      [PRIVATE, 'http://localhost:3000', 'https://nowhere.invalid'].map((url) => [url, NOT_PUBLIC]),
    ],
    ['may be private if WEBHOOK_ALLOW_PRIVATE is set', { WEBHOOK_ALLOW_PRIVATE: 'true' }, [PRIVATE], []],
    [
      'must be https in production',
      { NODE_ENV: 'production' },
      [HTTPS],
      [[HTTP, 'The URL must be an https URL.']],
    ],
  ])('%s', async (_what, env, taken, refused) => {
    const app = await createTestApp({ env: { WORKER: 'off', ...env } });
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
