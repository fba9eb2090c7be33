import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { Outbox } from '../store/outbox.js';

/** The outboxes of an application, by resource name. */
@Injectable()
export class Outboxes implements BeforeApplicationShutdown {
  private readonly outboxes = new Map<string, Outbox>();

  add(resource: string, outbox: Outbox): void {
    this.outboxes.set(resource, outbox);
  }

  /** The outbox of a resource; undefined if the resource does not exist or has no outbox. */
  of(resource: string): Outbox | undefined {
    return this.outboxes.get(resource);
  }

  /** Removes settled events while the database is still open. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all([...this.outboxes.values()].map((outbox) => outbox.drain()));
  }
}
