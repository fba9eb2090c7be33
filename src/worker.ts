import './check-node.js';
import 'reflect-metadata';
import { start } from './start.js';

/** Kept once the process has started. */
export const started = start('WORKER_PORT', async (environment, database) => {
  const { Logger } = await import('@nestjs/common');
  const { NestFactory } = await import('@nestjs/core');
  const { createApp } = await import('./app.setup.js');
  const { shutDownWorkerOnSignal, WorkerModule, WorkerPortModule } = await import('./app.worker.js');
  const { createLog, PinoLogger } = await import('./common/server/index.js');
  const log = createLog(environment.logLevel);
  const logger = new Logger('Worker');
  const worker = await NestFactory.createApplicationContext(WorkerModule.forRoot(environment, database), {
    logger: new PinoLogger(log),
    abortOnError: false,
  });
  shutDownWorkerOnSignal(worker);
  if (environment.workerPort === undefined) {
    logger.log('Working; set WORKER_PORT to a port for its health and metrics');
    return;
  }
  const root = WorkerPortModule.forRoot(worker, environment);
  const app = await createApp(root, { ...environment, docs: 'off' }, { log });
  await app.listen(environment.workerPort, environment.host);
  logger.log(`Working; health and metrics are at ${await app.getUrl()}`);
});
