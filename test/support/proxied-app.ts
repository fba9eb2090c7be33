import { eventually } from './eventually.js';
import { freshDatabaseUri } from './mongodb.js';
import { TcpProxy } from './tcp-proxy.js';
import { createTestApp, type TestApp, type TestAppOptions, useApp } from './test-app.js';

/** A service for the tests around whose database is behind a proxy: reached through it when a test begins. */
export function useProxiedApp({ env, ...options }: TestAppOptions = {}): TestApp & { proxy: TcpProxy } {
  // Before the service is closed.
  afterAll(() => app.proxy.turn('pass'));
  const app = useApp(async () => {
    const uri = freshDatabaseUri();
    const proxy = await TcpProxy.before(uri);
    const started = await createTestApp({ ...options, env: { ...env, MONGODB_URI: proxy.through(uri) } });
    return Object.assign(started, { proxy });
  }) as TestApp & { proxy: TcpProxy };
  beforeEach(async () => {
    await app.proxy.turn('pass');
    await eventually(() => app.connection.db?.command({ ping: 1 }));
  });
  afterAll(() => app.proxy.close());
  return app;
}
