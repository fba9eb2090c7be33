import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { AuditTrail } from './audit-trail.js';

/** The audit trails of an application. */
@Injectable()
export class AuditTrails implements BeforeApplicationShutdown {
  private readonly trails: AuditTrail[] = [];

  add(trail: AuditTrail): void {
    this.trails.push(trail);
  }

  /** Whether any resource is audited. */
  get areKept(): boolean {
    return this.trails.length > 0;
  }

  /** Stores the known outcomes while the database is still open. */
  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.trails.map((trail) => trail.drain()));
  }
}
