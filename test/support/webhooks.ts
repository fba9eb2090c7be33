import type { DynamicModule } from '@nestjs/common';
import { Types } from 'mongoose';
import type { DatabaseServer } from '../../src/common/database/index.js';
import type { Environment } from '../../src/config/index.js';
import { NotificationsModule } from '../../src/common/notifications/notifications.module.js';
import type { TargetCheck } from '../../src/common/notifications/subscriptions/subscriptions.service.js';
import { PostsModule } from '../../src/posts/posts.module.js';
import { freshDatabaseUri } from './mongodb.js';
import { resourceRoot } from './resource-app.js';
import { acme } from './tenants.js';
import { createTestApp, type TestApp, useApp } from './test-app.js';

/** Where subscriptions are made. */
export const SUBSCRIPTIONS = '/subscriptions';

/** A body that a subscription is made of. */
export const HOOK = { url: 'https://hooks.example.com/posts', events: ['posts.created', 'posts.archived'] };

/** A secret of 32 bytes, and nothing else. */
export const WHOLE_SECRET = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string;

type Sent = Record<string, string>;

/** A service with posts and notifications that resolves no names, emptied before each of the tests around. */
export function useWebhookApp(checkTarget?: TargetCheck): TestApp {
  const app = useApp(() => createWebhookApp({}, checkTarget));
  beforeEach(() => app.empty());
  return app;
}

/** Two processes of that service over one database. */
export function useTwoWebhookApps(): [TestApp, TestApp] {
  const env = { MONGODB_URI: freshDatabaseUri() };
  const apps: [TestApp, TestApp] = [useApp(() => createWebhookApp(env)), useApp(() => createWebhookApp(env))];
  beforeEach(() => apps[0].empty());
  return apps;
}

function createWebhookApp(
  env: Record<string, string>,
  checkTarget: TargetCheck = () => Promise.resolve(undefined),
): Promise<TestApp> {
  const targets = { allowPrivate: true, httpsOnly: false };
  const root = (environment: Environment, database: DatabaseServer): DynamicModule =>
    resourceRoot(environment, database, [
      PostsModule,
      NotificationsModule.forRoot({ worker: false, targets, checkTarget }),
    ]);
  return createTestApp({ root, env: { WORKER: 'off', ...env } });
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
    /** One of the actions on a subscription. */
    act: (id: string, action: string, headers?: Sent) =>
      app.post(`${at(id)}/${action}`, undefined, { token, headers }),
    stored: (id: string) => app.database.collection('subscriptions').findOne({ _id: new Types.ObjectId(id) }),
  };
}

/** Leaves the keys of requests as a process does that dies before it can keep its answers. */
export async function forgetAnswers({ database }: TestApp): Promise<void> {
  const forgotten = { $unset: { answer: 1 as const }, $set: { leaseUntil: new Date() } };
  await database.collection('idempotency_keys').updateMany({}, forgotten);
}
