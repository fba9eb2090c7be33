import { Injectable } from '@nestjs/common';
import type { mongo } from 'mongoose';
import { Counter, Histogram } from 'prom-client';
import { DatabaseTooSlowError, DatabaseUnavailableError } from '../errors/index.js';
import { addGauge, DURATION_BUCKETS, Metrics } from '../metrics/index.js';

/** Work that one command combines: new records, equal pages or counts, records by identifier, or changes. */
const BATCH_KINDS = ['creates', 'equals', 'reads', 'updates'] as const;
export type BatchKind = (typeof BATCH_KINDS)[number];

const BATCH_BUCKETS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000];

/** Counts commands by the connections that they hold: their own events would cost another reading of every response. */
@Injectable()
export class DatabaseMetrics {
  private readonly commands: Histogram;
  private readonly batches: Histogram<'kind'>;
  private readonly errors: Counter<'reason'>;
  /** When the connections in use were checked out, by server and number. */
  private readonly taken = new Map<string, number>();

  constructor(metrics: Metrics) {
    const registers = [metrics.registry];
    this.commands = new Histogram({
      name: 'database_command_duration_seconds',
      help: 'Time that a command had a connection of the pool: from when it was sent to when it was answered.',
      buckets: DURATION_BUCKETS,
      registers,
    });
    this.batches = new Histogram({
      name: 'database_batch_size',
      help: 'Reads by identifier, equal pages or counts, creates, and updates, of as many requests, that one command carried out.',
      labelNames: ['kind'],
      buckets: BATCH_BUCKETS,
      registers,
    });
    for (const kind of BATCH_KINDS) this.batches.zero({ kind });
    this.errors = new Counter({
      name: 'database_faults_total',
      help: 'Operations that failed because the database could not be reached (unavailable) or took too long (too_slow).',
      labelNames: ['reason'],
      registers,
    });
    for (const reason of ['too_slow', 'unavailable'] as const) this.errors.inc({ reason }, 0);
    const help = 'Connections that carry out a command now.';
    addGauge(metrics, 'database_connections_in_use', help, () => this.taken.size);
  }

  /** Counts the commands of a client that has just connected. */
  watch(client: mongo.MongoClient): void {
    client.on('connectionCheckedOut', ({ address, connectionId }) => {
      this.taken.set(`${address} ${connectionId}`, performance.now());
    });
    client.on('connectionCheckedIn', ({ address, connectionId }) => {
      const connection = `${address} ${connectionId}`;
      const since = this.taken.get(connection);
      if (since === undefined) return;
      this.taken.delete(connection);
      this.commands.observe((performance.now() - since) / 1_000);
    });
  }

  /** Counts a command that serves several requests. */
  batch(kind: BatchKind, size: number): void {
    this.batches.observe({ kind }, size);
  }

  /** Counts a failed operation, if the database is at fault. */
  failed(error: unknown): void {
    if (error instanceof DatabaseTooSlowError) this.errors.inc({ reason: 'too_slow' });
    if (error instanceof DatabaseUnavailableError) this.errors.inc({ reason: 'unavailable' });
  }
}
