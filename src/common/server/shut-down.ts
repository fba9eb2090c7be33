import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as TcpServer, type Socket } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { type INestApplicationContext, Logger, type Type } from '@nestjs/common';
import { ModuleRef, type NestApplicationContext } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { EntityEventPublisher } from '../events/index.js';
import { ShutdownState } from '../health/index.js';
import { lastUnfinished } from './connections.js';

/** Time for a load balancer to notice that readiness has changed. Unit: milliseconds. */
const NOTICE_MS = 1_000;
/** How long running requests may take after that before they are cut off. Unit: milliseconds. */
const DRAIN_MS = 6_500;
/** How long hooks may continue once no request is running. Unit: milliseconds. */
const HOOKS_MS = 1_000;

/** Options of {@link shutDownOnSignal}. */
export interface ShutdownOptions {
  /**
   * Ends work other than requests, such as a queue consumer's, at the same time as the requests. If it fails, the process ends
   * in the same order, with exit code 1.
   *
   * @default nothing
   */
  meanwhile?: () => unknown;
}

/**
 * Shuts the process down gracefully on SIGTERM or SIGINT, with exit code 0 within ten seconds. First
 * `/health/ready` answers 503 while connections stay usable; then no new ones are accepted, and each response
 * closes its connection. Running requests and hooks finish before the application and its database are
 * closed. A second signal has no effect. Use it instead of Nest's `enableShutdownHooks`:
 *
 * ```ts
 * const app = await createCrudApp(AppModule);
 * shutDownOnSignal(app);
 * await app.listen(3000);
 * ```
 *
 * @throws Error if the application is already listening
 */
export function shutDownOnSignal(app: NestFastifyApplication, { meanwhile }: ShutdownOptions = {}): void {
  const { server } = app.getHttpAdapter().getInstance();
  if (server.listening) throw new Error('shutDownOnSignal(app): call it before app.listen().');
  const giveUp = trackConnections(server);
  onSignal(async (signal) => {
    const state = findProvider(app, ShutdownState);
    if (state) state.begun = true;
    // At the same time: each may take most of the ten seconds.
    const ends = [finishRequests(app, giveUp), Promise.resolve().then(meanwhile)];
    await Promise.allSettled(ends);
    await (app as unknown as NestApplicationContext).close(signal);
    // If one has failed, so has the shutdown.
    await Promise.all(ends);
  });
}

/** Runs at the first SIGTERM or SIGINT, and then ends the process: with 0, or with 1 if it fails. */
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
    // Not through the application, which logs providers that it does not find.
    return app.get(ModuleRef).get(type, { strict: false });
  } catch {
    return undefined;
  }
}

async function finishRequests(app: NestFastifyApplication, giveUp: () => Promise<void>): Promise<void> {
  const { server } = app.getHttpAdapter().getInstance();
  const cutOff = setTimeout(() => server.closeAllConnections(), NOTICE_MS + DRAIN_MS);
  await giveUp();
  await app.getHttpAdapter().close();
  await Promise.race([app.get(EntityEventPublisher, { strict: false }).drain(), pause(HOOKS_MS)]);
  clearTimeout(cutOff);
}

/** How long a client may take to send its next request, whose response then closes the connection. Unit: milliseconds. */
const NEXT_REQUEST_MS = 1_500;
/** How often to look whether all connections are closed before that. Unit: milliseconds. */
const CHECK_MS = 25;
/** Maximum time to wait for a turn of the event loop without new events. Unit: milliseconds. */
const QUIET_MS = 3_000;

/** Tracks the connections of a server that does not listen yet. @returns a function that gives them up without losing a request */
function trackConnections(server: Server): () => Promise<void> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  // After the notice, it accepts no more connections, closes each one with its next response, and then ends those that are idle.
  return async () => {
    const last = new Map<Socket, ServerResponse>();
    server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) =>
      last.set(socket, response),
    );
    await pause(NOTICE_MS);
    await stopListening(server);
    // The last one, since those behind it would get none.
    for (const socket of sockets) endWith(last.get(socket) ?? lastUnfinished(socket));
    let requests = 0;
    server.prependListener('request', (_request: IncomingMessage, response: ServerResponse) => {
      requests += 1;
      endWith(response);
    });
    // For responses that were already being sent.
    server.keepAliveTimeout = NEXT_REQUEST_MS;
    const deadline = performance.now() + NEXT_REQUEST_MS;
    while (sockets.size > 0 && performance.now() < deadline) await pause(CHECK_MS);
    // A connection with an unread next request would be reset.
    await quiet(() => requests);
    server.closeIdleConnections();
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  };
}

/** Accepts the connections that wait to be accepted, which the system would otherwise reset, and then no more. */
async function stopListening(server: Server): Promise<void> {
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[];
  const accepted: Socket[] = [];
  // They are answered afterwards: a response lets its client open the next one.
  server.removeAllListeners('connection').on('connection', (socket: Socket) => accepted.push(socket));
  await quiet(() => accepted.length);
  // The HTTP server's own close would end idle connections at once, although a request may be on its way.
  TcpServer.prototype.close.call(server);
  server.removeAllListeners('connection');
  for (const listener of listeners) server.on('connection', listener);
  for (const socket of accepted) server.emit('connection', socket);
}

/** Resolves after a turn of the event loop in which the count did not change. */
async function quiet(count: () => number): Promise<void> {
  const deadline = performance.now() + QUIET_MS;
  let before: number;
  do {
    before = count();
    await nextTurn();
  } while (count() > before && performance.now() < deadline);
}

function endWith(response?: ServerResponse): void {
  if (response?.headersSent === false) response.setHeader('Connection', 'close');
}
