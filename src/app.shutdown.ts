import { setTimeout as pause } from 'node:timers/promises';
import { type INestApplicationContext, Logger } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { EntityEventPublisher } from './common/events/index.js';
import { OpenConnections } from './common/http/index.js';
import { ShutdownState } from './health/shutdown-state.js';
import { DeliveryWorker } from './notifications/worker/delivery-worker.js';

/** How long requests are still taken after readiness has turned, so that a load balancer can notice. Unit: milliseconds. */
const NOTICE_MS = 1_000;
/** How long running requests may take to end after that; then they are cut off. Unit: milliseconds. */
const DRAIN_MS = 6_500;
/** How long hooks may go on when no request does. Unit: milliseconds. */
const HOOKS_MS = 1_000;
/** How long a worker may take to end; then it is cut off, and what it had claimed is due again by itself. Unit: milliseconds. */
const WORKER_END_MS = 8_000;

/**
 * Ends the process in order on SIGTERM or SIGINT, with exit 0 within ten seconds. Readiness turns 503 while connections stay
 * usable; then no more are taken and answers close theirs; requests in flight and hooks are finished, and the database is
 * closed. Call it before the application listens. A second signal changes nothing.
 */
export function shutDownOnSignal(app: NestFastifyApplication): void {
  const connections = new OpenConnections(app.getHttpAdapter().getInstance().server);
  onSignal(() => shutDown(app, connections));
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

async function shutDown(app: NestFastifyApplication, connections: OpenConnections): Promise<void> {
  app.get(ShutdownState, { strict: false }).begun = true;
  // At the same time: each may take most of the ten seconds.
  await Promise.all([finishRequests(app, connections), inlineWorker(app)?.stop()]);
  await app.close();
}

async function finishRequests(app: NestFastifyApplication, connections: OpenConnections): Promise<void> {
  connections.watch();
  await pause(NOTICE_MS);
  const { server } = app.getHttpAdapter().getInstance();
  const cutOff = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
  await connections.giveUp();
  await app.getHttpAdapter().close();
  await Promise.race([app.get(EntityEventPublisher, { strict: false }).drain(), pause(HOOKS_MS)]);
  clearTimeout(cutOff);
}

/** Undefined with WORKER=off. */
function inlineWorker(app: NestFastifyApplication): DeliveryWorker | undefined {
  try {
    // Not by the application, which logs what it does not find.
    return app.get(ModuleRef).get(DeliveryWorker, { strict: false });
  } catch {
    return undefined;
  }
}
