import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { OUTAGE } from '../errors/index.js';
import { OPEN_RETRY_MS } from './database-limits.js';

/** Work on the database that no request waits for. It ends early, between two steps, when the process stops. */
export type BackgroundTask = (stopping: AbortSignal) => Promise<void>;

/** Runs tasks in the background and retries those that fail. */
export class BackgroundTasks {
  private readonly logger = new Logger('Database');
  private readonly stopping = new AbortController();
  private readonly running = new Set<Promise<void>>();

  constructor() {
    // Each pausing task adds a listener.
    setMaxListeners(0, this.stopping.signal);
  }

  /** Stops the tasks and resolves when every one has ended. */
  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.running);
  }

  run(name: string, task: BackgroundTask): void {
    const done = this.attempt(name, task).finally(() => this.running.delete(done));
    this.running.add(done);
  }

  private async attempt(name: string, task: BackgroundTask): Promise<void> {
    const { signal } = this.stopping;
    while (!signal.aborted) {
      try {
        return await task(signal);
      } catch (error) {
        if (!signal.aborted) this.logger.warn({ ...OUTAGE, error }, `${name} failed; trying again`);
        await pause(OPEN_RETRY_MS, signal);
      }
    }
  }
}

/** Resolves after a while, or as soon as the signal is aborted. */
export function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  return wait(milliseconds, undefined, { signal }).catch(() => undefined);
}
