import cluster, { type Worker } from 'node:cluster';
import { setTimeout as pause } from 'node:timers/promises';
import type { DatabaseServer } from './common/database/database-server.js';
import { createLog } from './common/http/pino-logger.js';
import { gatherFigures } from './common/metrics/shared-figures.js';
import type { Environment } from './config/environment.js';
import { breakWhatItNeverTook } from './handed-over.js';

/**
 * How long after the end of a process a new one replaces it; doubled if that also ends soon. Unit:
 * milliseconds.
 */
const RESTART_MS = 500;
const LONGEST_RESTART_MS = 30_000;
/** A process that has lasted this long did not fail because of its start. Unit: milliseconds. */
const STEADY_MS = 60_000;
/** How long the processes may take to end before they are cut off. Unit: milliseconds. */
const END_MS = 9_500;

/** Message from an API process to the primary, sent as soon as it serves requests. */
export interface Serving {
  readonly servingAt: string;
}

/** How a process has ended. */
interface End {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A process of the API. */
interface Member {
  readonly pid?: number;
  /** The URL that it serves; undefined if it has ended before. */
  readonly serving: Promise<string | undefined>;
  readonly ended: Promise<End>;
}

/**
 * Starts the API in `WEB_CONCURRENCY` processes that share one port. This process distributes connections to
 * them, runs the embedded database, replaces a process that ends, and shuts all of them down gracefully.
 */
export async function runPrimary(environment: Environment, database: DatabaseServer): Promise<void> {
  // Before the others start, since they look for the embedded database.
  await database.uri();
  gatherFigures();
  await new Primary(environment, database).start();
}

class Primary {
  private readonly log;
  private stopping = false;

  constructor(
    private readonly environment: Environment,
    private readonly database: DatabaseServer,
  ) {
    this.log = createLog(environment.logLevel).child({ context: 'Primary' });
  }

  /**
   * Resolves when all processes serve requests. If one cannot start, it logs the reason itself, and all end
   * with 1.
   */
  async start(): Promise<void> {
    const stop = (signal: string) => {
      if (this.stopping) return;
      this.log.info(`${signal}: shutting down all processes`);
      void this.endAll(0);
    };
    process.on('SIGTERM', stop).on('SIGINT', stop);
    const places = Array.from({ length: this.environment.webConcurrency }, (_, place) => place);
    // The first one starts alone: the others then find its collections, or would fail for the same reason.
    const url = await this.take(0);
    const others =
      url === undefined ? [] : await Promise.all(places.slice(1).map((place) => this.take(place)));
    if (this.stopping) return;
    if (url === undefined || others.includes(undefined)) return this.endAll(1);
    const explorer = this.environment.docs === 'on' ? `is at ${url}/docs` : 'is off';
    this.log.info(`Listening on ${url}; the explorer ${explorer}; ${places.length} processes`);
  }

  /**
   * Starts a process, which is replaced whenever it ends, and resolves with its URL; undefined if it cannot
   * start.
   */
  private async take(place: number): Promise<string | undefined> {
    const member = this.fork(place);
    const url = await member.serving;
    if (url !== undefined) void this.keep(place, member);
    return url;
  }

  private async keep(place: number, first: Member): Promise<void> {
    let pauseMs = RESTART_MS;
    for (let member = first; ; member = this.fork(place)) {
      const begun = performance.now();
      const how = await member.ended;
      if (performance.now() - begun > STEADY_MS) pauseMs = RESTART_MS;
      if (this.stopping) return;
      this.log.error({ pid: member.pid, ...how }, `A process has ended; another starts in ${pauseMs} ms`);
      await pause(pauseMs);
      if (this.stopping) return;
      pauseMs = Math.min(2 * pauseMs, LONGEST_RESTART_MS);
    }
  }

  private fork(place: number): Member {
    // Only one of them delivers notifications.
    const child = cluster.fork({ WORKER: place === 0 ? this.environment.worker : 'off' });
    breakWhatItNeverTook(child);
    const ended = endOf(child);
    const served = new Promise<string>((resolve) => {
      child.on('message', ({ servingAt }: Partial<Serving>) => {
        if (servingAt !== undefined) resolve(servingAt);
      });
    });
    return { pid: child.process.pid, ended, serving: Promise.race([served, ended.then(() => undefined)]) };
  }

  /** Ends all processes gracefully, then the database, then this process. */
  private async endAll(code: number): Promise<void> {
    this.stopping = true;
    const children = Object.values(cluster.workers ?? {}).filter((child) => child !== undefined);
    const ends = await Promise.all(children.map(end));
    await this.database.stop();
    process.exit(ends.every(inOrder) ? code : 1);
  }
}

/** Whether a process that was told to end did so, and was not cut off. */
function inOrder({ code, signal }: End): boolean {
  // One that is still starting does not handle the signal yet: nothing of it has to be finished.
  return code === 0 || signal === 'SIGTERM';
}

/** Tells a process to end, and resolves with how it ended. */
async function end(child: Worker): Promise<End> {
  if (child.isDead()) return { code: child.process.exitCode, signal: child.process.signalCode };
  const ended = endOf(child);
  const cutOff = setTimeout(() => child.process.kill('SIGKILL'), END_MS);
  child.process.kill('SIGTERM');
  const how = await ended;
  clearTimeout(cutOff);
  return how;
}

function endOf(child: Worker): Promise<End> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.on('error', () => {
      // Any other error comes from a message to a process that has just ended, and can be ignored.
      if (child.process.pid === undefined) resolve({ code: null, signal: null });
    });
  });
}
