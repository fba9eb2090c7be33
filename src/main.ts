import { letYoungGenerationGrow } from './young-generation.js';
import 'reflect-metadata';
import cluster from 'node:cluster';
import type { Serving } from './primary.js';
import { start } from './start.js';

/** Kept once the process has started. */
export const started = start({ portVariable: 'PORT' }, async (environment, database) => {
  if (environment.webConcurrency > 1 && cluster.isPrimary) {
    const { runPrimary } = await import('./primary.js');
    return runPrimary(environment, database);
  }
  const { Logger } = await import('@nestjs/common');
  const { AppModule } = await import('./app.module.js');
  const { createApp } = await import('./app.setup.js');
  const { shutDownServiceOnSignal } = await import('./app.shutdown.js');
  const app = await createApp(AppModule.forRoot(environment, database), environment);
  shutDownServiceOnSignal(app);
  await app.listen(environment.port, environment.host);
  letYoungGenerationGrow();
  const url = await app.getUrl();
  // With several processes, the primary reports for all of them.
  if (cluster.isWorker) {
    process.send?.({ servingAt: url } satisfies Serving);
    return;
  }
  const explorer = environment.docs === 'on' ? `is at ${url}/docs` : 'is off';
  new Logger('Main').log(`Listening on ${url}; the explorer ${explorer}`);
  if (process.stdout.isTTY) {
    const { bannerOf } = await import('./app.banner.js');
    process.stdout.write(bannerOf({ url, environment, databaseUri: await database.uri() }));
  }
});
