import { setTimeout as pause } from 'node:timers/promises';
import { type INestApplicationContext, Logger, type Type } from '@nestjs/common';
import { ModuleRef, type NestApplicationContext } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { EntityEventPublisher } from '../events/index.js';
import { ShutdownState } from '../health/index.js';
import { OpenConnections } from '../http/index.js';

/** How long requests are still taken after readiness has turned, so that a load balancer can notice. Unit: milliseconds. */
const NOTICE_MS = 1_000;
/** How long running requests may take to end after that; then they are cut off. Unit: milliseconds. */
const DRAIN_MS = 6_500;
/** How long hooks may go on when no request does. Unit: milliseconds. */
const HOOKS_MS = 1_000;

/** Options of {@link shutDownOnSignal}. */
export interface ShutdownOptions {
  /** Ends work besides requests, such as that of a queue's consumer, at the same time as the requests. @default nothing */
  meanwhile?: () => unknown;
}

/**
 * Ends the process in order on SIGTERM or SIGINT, with exit 0 within ten seconds. Readiness turns 503 while connections stay
 * usable; then no more are taken and answers close theirs; requests in flight and hooks are finished, and the application is
 * closed, and with it the database. A second signal changes nothing. Use it in place of Nest's `enableShutdownHooks`:
 *
 * ```ts
 * const app = await createCrudApp(AppModule);
 * shutDownOnSignal(app);
 * await app.listen(3000);
 * ```
 *
 * @throws Error if the application listens already
 */
export function shutDownOnSignal(app: NestFastifyApplication, { meanwhile }: ShutdownOptions = {}): void {
  const { server } = app.getHttpAdapter().getInstance();
  if (server.listening) throw new Error('shutDownOnSignal(app): call it before app.listen().');
  const connections = new OpenConnections(server);
  onSignal(async (signal) => {
    const state = findProvider(app, ShutdownState);
    if (state) state.begun = true;
    // At the same time: each may take most of the ten seconds.
    await Promise.all([finishRequests(app, connections), meanwhile?.()]);
    await (app as unknown as NestApplicationContext).close(signal);
  });
}

/** Runs once, at the first SIGTERM or SIGINT, and then ends the process: with 0, or with 1 if it fails. */
export function onSignal(shutDownInOrder: (signal: string) => Promise<void>): void {
  const logger = new Logger('Shutdown');
  let begun = false;
  const stop = (signal: string) => {
    if (begun) return;
    begun = true;
    logger.log(`${signal}: shutting down`);
    void shutDownInOrder(signal).then(
      () => process.exit(0),
      (error: unknown) => {
        logger.error({ error }, 'The shutdown failed');
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', stop).on('SIGINT', stop);
}

/** A provider of the application; undefined if it has none. */
export function findProvider<T>(app: INestApplicationContext, type: Type<T>): T | undefined {
  try {
    // Not by the application, which logs what it does not find.
    return app.get(ModuleRef).get(type, { strict: false });
  } catch {
    return undefined;
  }
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
