import { setTimeout as pause } from 'node:timers/promises';
import type { INestApplicationContext } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ShutdownState } from './common/health/index.js';
import { findProvider, onSignal, shutDownOnSignal } from './common/setup/index.js';
import { DeliveryWorker } from './notifications/worker/delivery-worker.js';

/** How long a worker may take to end; then it is cut off, and what it had claimed is due again by itself. Unit: milliseconds. */
const WORKER_END_MS = 8_000;

/** Ends the service in order on SIGTERM or SIGINT, and the worker that it may have. Call it before the service listens. */
export function shutDownServiceOnSignal(app: NestFastifyApplication): void {
  // There is none with WORKER=off.
  shutDownOnSignal(app, { meanwhile: () => findProvider(app, DeliveryWorker)?.stop() });
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
