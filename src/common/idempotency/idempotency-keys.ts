import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { Model, mongo, Types } from 'mongoose';
import { Database, OPERATION_LIMITS } from '../database/index.js';
import { DuplicateValueError, IdempotencyKeyInUseError, IdempotencyKeyReusedError } from '../errors/index.js';
import { IdempotencyKey, type KeptAnswer } from './idempotency-key.schema.js';
import { Reservation } from './reservation.js';

/** How long an answer is kept. Unit: milliseconds. */
const KEPT_MS = 24 * 60 * 60 * 1_000;

/**
 * How long a silent process keeps a key: less than the promised 10 s, since clocks differ. Unit:
 * milliseconds.
 */
const LEASE_MS = 8_000;

/** How often a reservation is retried because the key changed in between. */
const MAX_ATTEMPTS = 5;

/** The used keys, in the database. Each change of a key is a single atomic command. */
@Injectable()
export class IdempotencyKeys {
  constructor(
    @InjectModel(IdempotencyKey.name) private readonly keys: Model<IdempotencyKey>,
    private readonly database: Database,
  ) {}

  /**
   * Reserves a key for its first request, or takes it over from one that ended without an answer.
   *
   * @returns the stored answer instead, if there is one
   * @throws IdempotencyKeyReusedError if the key was used with another body
   * @throws IdempotencyKeyInUseError if the first request is in flight
   */
  async reserve(id: string, bodyHash: string): Promise<Reservation | KeptAnswer> {
    const owner = randomUUID();
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const fresh = { bodyHash, seed: new Types.ObjectId(), owner, ...leased(), ...expiring() };
      if (await this.insert({ _id: id, ...fresh })) return new Reservation(id, owner, fresh.seed, false);
      const found = await this.find(id);
      if (!found) continue;
      // The database removes expired keys only about once a minute.
      const isExpired = found.expiresAt.getTime() <= Date.now();
      if (!isExpired && found.bodyHash !== bodyHash) throw new IdempotencyKeyReusedError();
      if (!isExpired && found.answer) return found.answer;
      if (!isExpired && found.leaseUntil.getTime() > Date.now()) throw new IdempotencyKeyInUseError();
      const change = isExpired ? { $set: fresh, $unset: { answer: 1 } } : { $set: { owner, ...leased() } };
      if (await this.change({ _id: id, owner: found.owner, expiresAt: found.expiresAt }, change)) {
        return new Reservation(id, owner, isExpired ? fresh.seed : found.seed, !isExpired);
      }
    }
    throw new IdempotencyKeyInUseError();
  }

  /** Extends the lease, for a request that takes long. */
  async renew({ id, owner }: Reservation): Promise<void> {
    await this.change({ _id: id, owner, answer: null }, { $set: leased() });
  }

  /** Lets the next request with the key take it over at once. */
  async release({ id, owner }: Reservation): Promise<void> {
    await this.change({ _id: id, owner, answer: null }, { $set: { leaseUntil: new Date() } });
  }

  /**
   * Stores the answer of a request.
   *
   * @returns the answer that counts instead, if another request has taken the key over and answered
   * @throws IdempotencyKeyInUseError if another request has taken it over and not answered yet
   */
  async keep({ id, owner }: Reservation, answer: KeptAnswer): Promise<KeptAnswer | undefined> {
    if (await this.change({ _id: id, owner, answer: null }, { $set: { answer, ...expiring() } }))
      return undefined;
    const found = await this.find(id);
    if (found && !found.answer) throw new IdempotencyKeyInUseError();
    return found?.answer;
  }

  /** Returns whether the key did not exist. */
  private async insert(key: IdempotencyKey): Promise<boolean> {
    try {
      await this.database.call(() => this.keys.create(key));
      return true;
    } catch (error) {
      if (error instanceof DuplicateValueError) return false;
      throw error;
    }
  }

  private async find(id: string): Promise<IdempotencyKey | undefined> {
    const query = this.keys.findById(id, null, { ...OPERATION_LIMITS }).lean<IdempotencyKey>();
    const found = (await this.database.call(() => query.exec())) ?? undefined;
    return found?.answer
      ? { ...found, answer: { ...found.answer, body: bytesOf(found.answer.body) } }
      : found;
  }

  private async change(filter: object, change: object): Promise<boolean> {
    const query = this.keys.updateOne(filter, change, { ...OPERATION_LIMITS });
    const { matchedCount } = await this.database.call(() => query.exec());
    return matchedCount > 0;
  }
}

function leased(): { leaseUntil: Date } {
  return { leaseUntil: new Date(Date.now() + LEASE_MS) };
}

function expiring(): { expiresAt: Date } {
  return { expiresAt: new Date(Date.now() + KEPT_MS) };
}

/** A lean read returns the driver's own type of bytes. */
function bytesOf(body: Buffer | mongo.Binary): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.from(body.value());
}
