import { createHash } from 'node:crypto';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { InjectModel, type ModelDefinition } from '@nestjs/mongoose';
import { type mongo, Schema } from 'mongoose';
import {
  Batches,
  CRUD_CONNECTION,
  Database,
  OPERATION_LIMITS,
  reserveCollection,
} from '../database/index.js';
import { clientOf } from '../http/index.js';
import { contextOf, type HttpRequest } from '../request/index.js';

const HOUR_MS = 60 * 60 * 1_000;

/** The hours whose keys may still exist: 24, and the current one. */
const HOURS = 25;

/** Space of a key with its indexes, without the response. Unit: bytes. */
const KEY_BYTES = 512;

/** How long a sum is used before it is read again, with what other processes have added. Unit: milliseconds. */
const READ_MS = 10_000;

/** Maximum number of sums in memory. */
const MAX_SUMS = 10_000;

/** How long sums wait to be stored together, and how many at a time. */
const ADDING = { max: 500, lingerMs: 250 };

/** What a client has stored with keys that began in one hour. */
interface HourOfBytes {
  /** SHA-256 of the account, and the hour. */
  readonly _id: string;
  readonly bytes: number;
  readonly expiresAt: Date;
}

/** A model, as far as its documents are read and written by the driver. */
export interface ModelOf<T extends object> {
  readonly collection: mongo.Collection<T>;
}

/** A model of documents that the database removes at their `expiresAt`. */
export function expiringModel(name: string, collection: string): ModelDefinition {
  const schema = new Schema({ _id: String, expiresAt: Date }, { strict: false, versionKey: false });
  schema.index({ expiresAt: 1 }, { expireAfterSeconds: 0 });
  return { name, collection, schema: reserveCollection(schema) };
}

export const IDEMPOTENCY_BYTES = expiringModel('HourOfBytes', 'idempotency_bytes');

/** How many bytes of keys and responses each client has in the database, whichever process has stored them. */
@Injectable()
export class StoredBytes implements BeforeApplicationShutdown {
  /** Of a tenant; of an address without a token; and of all of these. Unit: bytes. */
  limits = { tenant: 2 ** 30, address: 2 ** 26, addresses: 2 ** 30 };
  private readonly sums = new Map<string, { bytes: number; readonly readAt: number }>();
  private readonly adding = new Batches<HourOfBytes, undefined>((added) => this.store(added), ADDING);

  constructor(
    @InjectModel(IDEMPOTENCY_BYTES.name, CRUD_CONNECTION) private readonly hours: ModelOf<HourOfBytes>,
    private readonly database: Database,
  ) {}

  async beforeApplicationShutdown(): Promise<void> {
    await this.adding.drain();
  }

  /** When the client of a request may store another key; undefined if at once. Unit: seconds. */
  async waitOf(request: HttpRequest): Promise<number | undefined> {
    for (const [name, limit] of Object.entries(this.limitsOf(request))) {
      // When the oldest hour stops counting.
      if ((await this.sumOf(name)) >= limit) return Math.ceil((HOUR_MS - (Date.now() % HOUR_MS)) / 1_000);
    }
    return undefined;
  }

  /** Counts a new key, or the response to an earlier one. */
  add(request: HttpRequest, bytes = KEY_BYTES): void {
    const hour = Math.floor(Date.now() / HOUR_MS);
    const expiresAt = new Date((hour + HOURS) * HOUR_MS);
    for (const name of Object.keys(this.limitsOf(request))) {
      const sum = this.sums.get(name);
      if (sum) sum.bytes += bytes;
      // A count that is lost with the database is made up for by the next ones.
      this.adding.add({ _id: idOf(name, hour), bytes, expiresAt }).catch(() => undefined);
    }
  }

  /** The limits of the accounts of a request by name: those of a tenant or, without one, of an address and of all addresses. */
  private limitsOf(request: HttpRequest): Record<string, number> {
    const client = clientOf(request);
    const { tenant, address, addresses } = this.limits;
    if (contextOf(request).caller?.tenant !== undefined) return { [`tenant ${client}`]: tenant };
    return { [`address ${client}`]: address, addresses };
  }

  private async sumOf(name: string): Promise<number> {
    const known = this.sums.get(name);
    if (known && Date.now() - known.readAt < READ_MS) return known.bytes;
    const hour = Math.floor(Date.now() / HOUR_MS);
    const ids = Array.from({ length: HOURS }, (_, ago) => idOf(name, hour - ago));
    const find = () => this.hours.collection.find({ _id: { $in: ids } }, { ...OPERATION_LIMITS }).toArray();
    const found = await this.database.call(find);
    const bytes = found.reduce((sum, one) => sum + one.bytes, 0);
    if (this.sums.size >= MAX_SUMS) this.sums.clear();
    this.sums.set(name, { bytes, readAt: Date.now() });
    return bytes;
  }

  private async store(added: readonly HourOfBytes[]): Promise<undefined[]> {
    const sums = new Map<string, HourOfBytes>();
    for (const one of added)
      sums.set(one._id, { ...one, bytes: (sums.get(one._id)?.bytes ?? 0) + one.bytes });
    const updates = [...sums.values()].map(({ _id, bytes, expiresAt }) => ({
      updateOne: {
        filter: { _id },
        update: { $inc: { bytes }, $setOnInsert: { expiresAt } },
        upsert: true,
      },
    }));
    const options = { ...OPERATION_LIMITS, ordered: false };
    await this.database.call(() => this.hours.collection.bulkWrite(updates, options));
    return [];
  }
}

function idOf(name: string, hour: number): string {
  return `${createHash('sha256').update(name).digest('hex')} ${hour}`;
}
