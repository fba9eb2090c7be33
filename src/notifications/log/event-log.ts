import { Injectable } from '@nestjs/common';
import type { EventRecord } from './event-record.schema.js';

/** An event that the log has not numbered yet. */
export type NewEvent = Omit<EventRecord, 'seq'>;

/** The log of all events, in one order for all tenants. */
@Injectable()
export class EventLog {
  /** Stores events and resolves with them as stored; one that the log has already stays as it is and is given back so. */
  append(_events: readonly NewEvent[]): Promise<EventRecord[]> {
    throw new Error('Not built yet');
  }

  /** Events after a place, in order: of one tenant, of some, or of all. */
  read(_after: number, _options: { tenants?: readonly string[]; limit: number }): Promise<EventRecord[]> {
    throw new Error('Not built yet');
  }

  /** An event of a tenant by its identifier. */
  find(_tenant: string, _id: string): Promise<EventRecord | undefined> {
    throw new Error('Not built yet');
  }

  /** The highest place in the log; 0 if it is empty. */
  head(): Promise<number> {
    throw new Error('Not built yet');
  }

  /** Calls the listener after this process has appended events; returns a function that ends it. */
  onAppend(_listener: () => void): () => void {
    throw new Error('Not built yet');
  }
}
