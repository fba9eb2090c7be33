import { Types } from 'mongoose';
import type { Variables } from '../../src/config/index.js';
import { NotificationsModule } from '../../src/common/notifications/notifications.module.js';
import type { ResolveName } from '../../src/common/notifications/index.js';
import { PostsModule } from '../../src/posts/posts.module.js';
import { rootOf } from './resource-app.js';
import { acme } from './tenants.js';
import { type TestApp, type TestResponse, useTestApp } from './test-app.js';

export const SUBSCRIPTIONS = '/subscriptions';

/** A body that a subscription is made of. */
export const HOOK = { url: 'https://hooks.example.com/posts', events: ['posts.created', 'posts.archived'] };

/** A secret of 32 bytes, and nothing else. */
export const WHOLE_SECRET = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string;

type Sent = Record<string, string>;

/** A service with posts and notifications that asks no DNS, emptied before each of the tests around. */
export function useWebhookApp(
  env: Variables = {},
  resolve: ResolveName = () => Promise.resolve(['93.184.216.34']),
): TestApp {
  const targets = { allowPrivate: true, httpsOnly: false };
  const notifications = NotificationsModule.forRoot({ worker: false, targets, sender: { resolve } });
  const app = useTestApp({ root: rootOf(PostsModule, notifications), env: { WORKER: 'off', ...env } });
  beforeEach(() => app.empty());
  return app;
}

/** What a tenant does with its subscriptions, that of ACME unless another token is given. */
export function subscriber(app: TestApp, token = acme) {
  const post = (body: unknown, headers?: Sent) => app.post(SUBSCRIPTIONS, body, { token, headers });
  const at = (id: string) => `${SUBSCRIPTIONS}/${id}`;
  return {
    post,
    create: (body: object = HOOK) => app.create(SUBSCRIPTIONS, body, token),
    get: (id: string, headers?: Sent) => app.get(at(id), { token, headers }),
    patch: (id: string, changes: unknown, headers?: Sent) => app.patch(at(id), changes, { token, headers }),
    act: (id: string, action: string, headers?: Sent) =>
      app.post(`${at(id)}/${action}`, undefined, { token, headers }),
    stored: (id: string) => app.database.collection('subscriptions').findOne({ _id: new Types.ObjectId(id) }),
  };
}

/** Asserts that an answer is a replay, with this status and body, in which secrets are left out. */
export const expectReplayOf = ({ status, headers, body }: TestResponse, ...expected: [number, object]) =>
  expect([headers.get('idempotency-replayed'), status, body]).toEqual(['true', ...expected]);
