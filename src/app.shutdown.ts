import { setTimeout as pause } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ShutdownState } from './common/health/index.js';
import { findProvider, onSignal, shutDownOnSignal } from './common/server/index.js';
import { DeliveryWorker } from './common/notifications/index.js';

/**
 * How long a worker may take to end before it is cut off; its claims then become due again. Unit:
 * milliseconds.
 */
const WORKER_END_MS = 8_000;

/**
 * Shuts the service, and its worker if it has one, down gracefully on SIGTERM or SIGINT. Call it before the
 * service listens.
 */
export function shutDownServiceOnSignal(app: NestFastifyApplication): void {
  // There is none with WORKER=off.
  shutDownOnSignal(app, { meanwhile: () => findProvider(app, DeliveryWorker)?.stop() });
}

/**
 * Shuts a worker down gracefully on SIGTERM or SIGINT: its readiness turns 503, it claims nothing more,
 * stores the outcomes of running attempts, and closes the database. Exits with 0 within ten seconds.
 */
export function shutDownWorkerOnSignal(worker: INestApplicationContext): void {
  onSignal(async () => {
    worker.get(ShutdownState, { strict: false }).begun = true;
    await Promise.race([worker.close(), pause(WORKER_END_MS)]);
  });
}
