import './check-node.js';
import 'reflect-metadata';
import { start } from './start.js';

/** Kept once the process has started. */
export const started = start('PORT', async (environment, database) => {
  const { Logger } = await import('@nestjs/common');
  const { AppModule } = await import('./app.module.js');
  const { createApp } = await import('./app.setup.js');
  const { findProvider, shutDownOnSignal } = await import('./common/server/index.js');
  const { DeliveryWorker } = await import('./common/notifications/index.js');
  const app = await createApp(AppModule.forRoot(environment, database), environment);
  // There is no worker with WORKER=off.
  shutDownOnSignal(app, { meanwhile: () => findProvider(app, DeliveryWorker)?.stop() });
  await app.listen(environment.port, environment.host);
  const url = await app.getUrl();
  const explorer = environment.docs === 'on' ? `is at ${url}/docs` : 'is off';
  new Logger('Main').log(`Listening on ${url}; the explorer ${explorer}`);
  if (process.stdout.isTTY) {
    const { bannerOf } = await import('./app.banner.js');
    process.stdout.write(bannerOf({ url, environment, databaseUri: await database.uri() }));
  }
});
