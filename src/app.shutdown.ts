import { setTimeout as pause } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { EntityEventPublisher } from './common/events/index.js';
import { ShutdownState } from './health/shutdown-state.js';

/** How long requests are still taken after readiness has turned, so that a load balancer can notice. Unit: milliseconds. */
const NOTICE_MS = 1_000;
/** How long running requests and hooks may take to end; then they are cut off. Unit: milliseconds. */
const DRAIN_MS = 7_000;

/**
 * Ends the process in order on SIGTERM or SIGINT: readiness turns 503, requests in flight are finished, hooks too, the
 * database is closed; exit 0 within ten seconds. A second signal changes nothing.
 */
export function shutDownOnSignal(app: NestFastifyApplication): void {
  const logger = new Logger('Shutdown');
  let begun = false;
  const stop = (signal: string) => {
    if (begun) return;
    begun = true;
    logger.log(`${signal}: shutting down`);
    void shutDown(app).then(
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
  await app.close();
}
