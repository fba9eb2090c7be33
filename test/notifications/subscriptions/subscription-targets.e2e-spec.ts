import { targetFault } from '../../../src/common/notifications/webhooks/targets.js';
import { expectInvalid } from '../../support/problems.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { createTestApp, useApp } from '../../support/test-app.js';
import { createWebhookApp, HOOK, SUBSCRIPTIONS as PATH } from '../../support/webhooks.js';

const PUBLIC = 'The URL must lead to a public address.';
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'hooks.example.com': ['93.184.215.14', '2606:2800:21f:cb07:6820:80da:af6b:8b2c'],
  'inside.example.com': ['10.0.0.7'],
  'mixed.example.com': ['93.184.215.14', '127.0.0.1'],
};
const policy = { allowPrivate: false, httpsOnly: false };
const resolve = (name: string) => {
  const addresses = NAMES[name];
  return addresses ? Promise.resolve(addresses) : Promise.reject(new Error('ENOTFOUND'));
};

describe('the target of a subscription', () => {
  const token = tokenOf(ACME);
  const app = useApp(() => createWebhookApp((url) => targetFault(url, policy, resolve)));

  it.each(['https://hooks.example.com', 'http://hooks.example.com:8080/a?b=c', 'https://93.184.215.14/hook'])(
    'may be %s',
    async (url) => {
      expect((await app.post(PATH, { ...HOOK, url }, { token })).status).toBe(201);
    },
  );

  it.each([
    ['http://127.0.0.1', PUBLIC],
    ['http://localhost:3000', PUBLIC],
    ['http://0x7f000001', PUBLIC],
    ['http://2130706433', PUBLIC],
    ['http://[::1]:80', PUBLIC],
    ['http://[::ffff:10.0.0.1]', PUBLIC],
    ['http://169.254.169.254/latest/meta-data', PUBLIC],
    ['https://inside.example.com', PUBLIC],
    ['https://mixed.example.com', PUBLIC],
    ['https://nowhere.example.com', PUBLIC],
    ['ftp://hooks.example.com', 'The URL must be an http or https URL.'],
    ['hooks.example.com', 'The URL must be an http or https URL.'],
    ['https://user:password@hooks.example.com', 'The URL must have no user information.'],
    ['https://hooks.example.com:0', 'The URL must not have the port 0.'],
    ['https://hooks.example.com/%0d%0aHost:', 'The URL must have no white space and no line breaks.'],
  ])('may not be %s, at registration and in an update', async (url, detail) => {
    const fault = { pointer: '/url', detail };
    expectInvalid(await app.post(PATH, { ...HOOK, url }, { token }), PATH, fault);
    const { body } = await app.post(PATH, HOOK, { token });
    const path = `${PATH}/${body._id}`;
    expectInvalid(await app.patch(path, { url }, { token }), path, fault);
    expect((await app.get(path, { token })).body.url).toBe(HOOK.url);
  });

  it('is rejected in the same words whether its name is internal or unknown', async () => {
    const rejected = async (url: string) => {
      const { status, body } = await app.post(PATH, { ...HOOK, url }, { token });
      return { status, ...(body as object), requestId: undefined };
    };
    const internal = await rejected('https://inside.example.com');
    expect(internal.status).toBe(400);
    expect(await rejected('https://nowhere.example.com')).toEqual(internal);
  });

  it('may be private only if WEBHOOK_ALLOW_PRIVATE is set', async () => {
    const url = 'http://127.0.0.1:9/hook';
    for (const [value, status] of [
      ['false', 400],
      ['true', 201],
    ] as const) {
      const service = await createTestApp({ env: { WORKER: 'off', WEBHOOK_ALLOW_PRIVATE: value } });
      expect((await service.post(PATH, { ...HOOK, url }, { token })).status).toBe(status);
      await service.close();
    }
  });

  it('must be https in production', async () => {
    const service = await createTestApp({ env: { WORKER: 'off', NODE_ENV: 'production' } });
    expectInvalid(await service.post(PATH, { ...HOOK, url: 'http://93.184.215.14' }, { token }), PATH, {
      pointer: '/url',
      detail: 'The URL must be an https URL.',
    });
    expect((await service.post(PATH, { ...HOOK, url: 'https://93.184.215.14' }, { token })).status).toBe(201);
    await service.close();
  });
});
