import { setTimeout as pause } from 'node:timers/promises';
import { type INestApplicationContext, Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { EntityEventPublisher } from './common/events/index.js';
import { ShutdownState } from './health/shutdown-state.js';
import { DeliveryWorker } from './notifications/worker/delivery-worker.js';

/** How long requests are still taken after readiness has turned, so that a load balancer can notice. Unit: milliseconds. */
const NOTICE_MS = 1_000;
/** How long running requests and hooks may take to end; then they are cut off. Unit: milliseconds. */
const DRAIN_MS = 7_000;
/** How long a worker may take to end; then it is cut off, and what it had claimed is due again by itself. Unit: milliseconds. */
const WORKER_END_MS = 8_000;

/**
 * Ends the process in order on SIGTERM or SIGINT: readiness turns 503, requests in flight are finished, hooks too, the
 * database is closed; exit 0 within ten seconds. A second signal changes nothing.
 */
export function shutDownOnSignal(app: NestFastifyApplication): void {
  onSignal(() => shutDown(app));
}

/**
 * Ends a worker on SIGTERM or SIGINT: its readiness turns 503, it claims nothing more, writes the outcomes of what it has
 * begun, and closes the database; exit 0 within ten seconds.
 */
export function shutDownWorkerOnSignal(worker: INestApplicationContext): void {
  onSignal(async () => {
    worker.get(ShutdownState, { strict: false }).begun = true;
    await Promise.race([worker.close(), pause(WORKER_END_MS)]);
  });
}

function onSignal(shutDownInOrder: () => Promise<void>): void {
  const logger = new Logger('Shutdown');
  let begun = false;
  const stop = (signal: string) => {
    if (begun) return;
    begun = true;
    logger.log(`${signal}: shutting down`);
    void shutDownInOrder().then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ error }, 'The shutdown failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
}

async function shutDown(app: NestFastifyApplication): Promise<void> {
  app.get(ShutdownState, { strict: false }).begun = true;
  // At the same time: each may take most of the ten seconds.
  await Promise.all([finishRequests(app), inlineWorker(app)?.stop()]);
  await app.close();
}

async function finishRequests(app: NestFastifyApplication): Promise<void> {
  // Clients that keep their connection are told to open the next one elsewhere.
  app
    .getHttpAdapter()
    .getInstance()
    .server.prependListener('request', (_request, response) => {
      response.setHeader('Connection', 'close');
    });
  await pause(NOTICE_MS);
  const { server } = app.getHttpAdapter().getInstance();
  const cutOff = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await app.getHttpAdapter().close();
  await Promise.race([app.get(EntityEventPublisher, { strict: false }).drain(), pause(NOTICE_MS)]);
  clearTimeout(cutOff);
}

/** Undefined with WORKER=off. */
function inlineWorker(app: NestFastifyApplication): DeliveryWorker | undefined {
  try {
    return app.get(DeliveryWorker, { strict: false });
  } catch {
    return undefined;
  }
}
