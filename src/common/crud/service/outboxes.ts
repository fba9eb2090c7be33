import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { Outbox } from '../store/outbox.js';

/** The outboxes of an application, by the names of their resources. */
@Injectable()
export class Outboxes implements BeforeApplicationShutdown {
  private readonly outboxes = new Map<string, Outbox>();

  add(resource: string, outbox: Outbox): void {
    this.outboxes.set(resource, outbox);
  }

  /** The outbox of a resource; undefined if there is no such resource, or it has none. */
  of(resource: string): Outbox | undefined {
    return this.outboxes.get(resource);
  }

  /** Takes out what is settled while the database is still open. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.outboxes.values()].map((outbox) => outbox.drain()));
  }
}
