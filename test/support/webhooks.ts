import type { DynamicModule } from '@nestjs/common';
import type { DatabaseServer } from '../../src/common/database/index.js';
import type { Environment } from '../../src/config/index.js';
import { NotificationsModule } from '../../src/common/notifications/notifications.module.js';
import type { TargetCheck } from '../../src/common/notifications/subscriptions/subscriptions.service.js';
import { PostsModule } from '../../src/posts/posts.module.js';
import { resourceRoot } from './resource-app.js';
import { createTestApp, type TestApp } from './test-app.js';

/** Where subscriptions are made. */
export const SUBSCRIPTIONS = '/subscriptions';

/** A body that a subscription is made of. */
export const HOOK = { url: 'https://hooks.example.com/posts', events: ['posts.created', 'posts.archived'] };

/** A secret, in any text. */
export const SECRET = /whsec_[A-Za-z0-9+/=]+/;

/** A secret of 32 bytes, and nothing else. */
export const WHOLE_SECRET = expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/) as string;

/** A target that may be registered, whatever it is. */
const anyTarget: TargetCheck = () => Promise.resolve(undefined);

/** Starts a service with posts and notifications that resolves no names. */
export function createWebhookApp(
  checkTarget = anyTarget,
  env: Record<string, string> = {},
): Promise<TestApp> {
  const root = (environment: Environment, database: DatabaseServer): DynamicModule =>
    resourceRoot(environment, database, [
      PostsModule,
      NotificationsModule.forRoot({
        worker: false,
        targets: { allowPrivate: true, httpsOnly: false },
        checkTarget,
      }),
    ]);
  return createTestApp({ root, env: { WORKER: 'off', ...env } });
}
