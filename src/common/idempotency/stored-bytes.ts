import { createHash } from 'node:crypto';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { InjectModel, Prop, Schema, SchemaFactory } from '@nestjs/mongoose';
import { Model } from 'mongoose';
import { Batches, CRUD_CONNECTION, Database, OPERATION_LIMITS } from '../database/index.js';
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
@Schema({ versionKey: false })
export class HourOfBytes {
  /** SHA-256 of the account, and the hour. */
  @Prop({ type: String, required: true })
  _id!: string;

  @Prop({ type: Number, required: true })
  bytes!: number;

  @Prop({ type: Date, required: true, expires: 0 })
  expiresAt!: Date;
}

export const HourOfBytesSchema = SchemaFactory.createForClass(HourOfBytes);

/** What counts towards a limit: a tenant, an address, or all addresses. */
interface Account {
  readonly name: string;
  readonly limit: number;
}

/** How many bytes of keys and responses each client has in the database, whichever process has stored them. */
@Injectable()
export class StoredBytes implements BeforeApplicationShutdown {
  /** Of a tenant; of an address without a token; and of all of these. Unit: bytes. */
  limits = { tenant: 2 ** 30, address: 2 ** 26, addresses: 2 ** 30 };
  private readonly sums = new Map<string, { bytes: number; readonly readAt: number }>();
  private readonly adding = new Batches<[id: string, bytes: number, hour: number], undefined>(
    (added) => this.store(added),
    ADDING,
  );

  constructor(
    @InjectModel(HourOfBytes.name, CRUD_CONNECTION) private readonly hours: Model<HourOfBytes>,
    private readonly database: Database,
  ) {}

  async beforeApplicationShutdown(): Promise<void> {
    await this.adding.drain();
  }

  /** When the client of a request may store another key; undefined if at once. Unit: seconds. */
  async waitOf(request: HttpRequest): Promise<number | undefined> {
    for (const { name, limit } of this.accountsOf(request)) {
      // When the oldest hour stops counting.
      if ((await this.sumOf(name)) >= limit) return Math.ceil((HOUR_MS - (Date.now() % HOUR_MS)) / 1_000);
    }
    return undefined;
  }

  /** Counts a new key, or the response to an earlier one. */
  add(request: HttpRequest, bytes = KEY_BYTES): void {
    const hour = Math.floor(Date.now() / HOUR_MS);
    for (const { name } of this.accountsOf(request)) {
      const sum = this.sums.get(name);
      if (sum) sum.bytes += bytes;
      // A count that is lost with the database is made up for by the next ones.
      this.adding.add([idOf(name, hour), bytes, hour]).catch(() => undefined);
    }
  }

  private accountsOf(request: HttpRequest): Account[] {
    const client = clientOf(request);
    const { tenant, address, addresses } = this.limits;
    if (contextOf(request).caller?.tenant !== undefined) return [{ name: `tenant ${client}`, limit: tenant }];
    return [
      { name: `address ${client}`, limit: address },
      { name: 'addresses', limit: addresses },
    ];
  }

  private async sumOf(name: string): Promise<number> {
    const known = this.sums.get(name);
    if (known && Date.now() - known.readAt < READ_MS) return known.bytes;
    const hour = Math.floor(Date.now() / HOUR_MS);
    const ids = Array.from({ length: HOURS }, (_, ago) => idOf(name, hour - ago));
    const query = this.hours
      .find({ _id: { $in: ids } }, { bytes: 1 }, { ...OPERATION_LIMITS })
      .lean<HourOfBytes[]>();
    const found = await this.database.call(() => query.exec());
    const bytes = found.reduce((sum, one) => sum + one.bytes, 0);
    if (this.sums.size >= MAX_SUMS) this.sums.clear();
    this.sums.set(name, { bytes, readAt: Date.now() });
    return bytes;
  }

  private async store(
    added: readonly (readonly [id: string, bytes: number, hour: number])[],
  ): Promise<undefined[]> {
    const sums = new Map<string, { bytes: number; hour: number }>();
    for (const [id, bytes, hour] of added) sums.set(id, { bytes: (sums.get(id)?.bytes ?? 0) + bytes, hour });
    const updates = [...sums].map(([_id, { bytes, hour }]) => ({
      updateOne: {
        filter: { _id },
        update: { $inc: { bytes }, $setOnInsert: { expiresAt: new Date((hour + HOURS) * HOUR_MS) } },
        upsert: true,
      },
    }));
    await this.database.call(() => this.hours.bulkWrite(updates, { ...OPERATION_LIMITS, ordered: false }));
    return [];
  }
}

function idOf(name: string, hour: number): string {
  return `${createHash('sha256').update(name).digest('hex')} ${hour}`;
}
