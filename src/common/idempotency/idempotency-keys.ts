import { createHash, randomUUID } from 'node:crypto';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import { InjectModel } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CRUD_CONNECTION, Database, OPERATION_LIMITS } from '../database/index.js';
import {
  DuplicateValueError,
  IdempotencyKeyInUseError,
  DomainError,
  TooManyRequestsError,
} from '../errors/index.js';
import type { HttpRequest } from '../request/index.js';
import { Reservation } from './reservation.js';
import { expiringModel, type ModelOf, StoredBytes } from './stored-bytes.js';

/** A response as it is stored to be replayed. */
export interface Replay {
  readonly status: number;
  /** The headers that the handler added. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** SHA-256 of the claims of the token, without those that every token has anew. */
  readonly claims?: string;
  /** How the stored body is compressed; absent if it is not. */
  readonly coding?: 'gzip';
}

/** A used key: reserved while its first request runs, and then stored with the response. */
interface IdempotencyKey {
  /** SHA-256 of the caller, the target and the key itself. */
  readonly _id: string;
  /** SHA-256 of the body's bytes; the body itself is not stored. */
  readonly bodyHash: string;
  /** Seed for the identifiers of the records that the request creates. */
  readonly seed: Types.ObjectId;
  /** The attempt that carries out the request; only it may store the response. */
  readonly owner: string;
  /** When another request with the key may take it over. */
  readonly leaseUntil: Date;
  readonly answer?: Replay;
  readonly expiresAt: Date;
}

/** The used keys, and beside them what units of work have returned. */
export const IDEMPOTENCY_KEYS = expiringModel('IdempotencyKey', 'idempotency_keys');

/** What a unit of work has returned, from its commit until the response is stored. */
interface UnitResult {
  readonly _id: string;
  readonly result?: unknown;
  readonly expiresAt: Date;
}

/** How long a response is stored. Unit: milliseconds. */
const RETENTION_MS = 24 * 60 * 60 * 1_000;

/** How long a silent process keeps a key: less than the promised 10 s, since clocks differ. Unit: milliseconds. */
const LEASE_MS = 8_000;

/** Responses from this size on are compressed: results repeat each other. Unit: bytes. */
const COMPRESSED_FROM = 1_024;

/** How often a reservation is retried because the key changed in between. */
const MAX_ATTEMPTS = 5;

/** The used keys, in the database. Each change of a key is a single atomic command. */
@Injectable()
export class IdempotencyKeys {
  constructor(
    @InjectModel(IDEMPOTENCY_KEYS.name, CRUD_CONNECTION) private readonly keys: ModelOf<IdempotencyKey>,
    @InjectModel(IDEMPOTENCY_KEYS.name, CRUD_CONNECTION) private readonly results: ModelOf<UnitResult>,
    private readonly database: Database,
    private readonly bytes: StoredBytes,
  ) {}

  /**
   * Reserves a key for its first request, or takes it over from one that ended without a response.
   *
   * @returns the stored response instead, if there is one
   * @throws DomainError if the key was used with another body
   * @throws IdempotencyKeyInUseError if the first request is in flight
   * @throws TooManyRequestsError if the key is new, and its client has stored as much as it may
   */
  async reserve(id: string, request: HttpRequest): Promise<Reservation | Replay> {
    const bodyHash = bodyHashOf(request);
    const owner = randomUUID();
    const wait = await this.bytes.waitOf(request);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      const fresh = { bodyHash, seed: new Types.ObjectId(), owner, ...leased(), ...expiring() };
      if (wait === undefined && (await this.insert({ _id: id, ...fresh }))) {
        this.bytes.add(request);
        return new Reservation(id, owner, fresh.seed, false, this);
      }
      const found = await this.find(id);
      // The database removes expired keys only about once a minute.
      const isExpired = found !== undefined && found.expiresAt.getTime() <= Date.now();
      if (wait !== undefined && (!found || isExpired)) throw new TooManyRequestsError('keys', wait);
      if (!found) continue;
      if (!isExpired && found.bodyHash !== bodyHash) throw new DomainError('IDEMPOTENCY_KEY_REUSED');
      if (!isExpired && found.answer) return found.answer;
      if (!isExpired && found.leaseUntil.getTime() > Date.now()) throw new IdempotencyKeyInUseError();
      const change = isExpired ? { $set: fresh, $unset: { answer: 1 } } : { $set: { owner, ...leased() } };
      if (await this.change({ _id: id, owner: found.owner, expiresAt: found.expiresAt }, change)) {
        if (isExpired) this.bytes.add(request);
        return new Reservation(id, owner, isExpired ? fresh.seed : found.seed, !isExpired, this);
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
   * Stores the response of a request.
   *
   * @returns the response that counts instead, if another request has taken the key over and answered
   * @throws IdempotencyKeyInUseError if another request has taken it over and not answered yet
   */
  async store(
    { id, owner, resultIds }: Reservation,
    response: Replay,
    request: HttpRequest,
  ): Promise<Replay | undefined> {
    const stored = await compressed(response);
    if (await this.change({ _id: id, owner, answer: null }, { $set: { answer: stored, ...expiring() } })) {
      this.bytes.add(request, stored.body.length);
      const remove = () =>
        this.results.collection.deleteMany({ _id: { $in: resultIds } }, { ...OPERATION_LIMITS });
      // Otherwise, they expire.
      if (resultIds.length > 0) void this.database.call(remove).catch(() => undefined);
      return undefined;
    }
    const found = await this.find(id);
    if (found && !found.answer) throw new IdempotencyKeyInUseError();
    return found?.answer;
  }

  /** What a unit of work has returned, if it was committed and the response to its request is not stored yet. */
  async findResult(_id: string): Promise<{ readonly result?: unknown } | undefined> {
    const find = () => this.results.collection.findOne({ _id }, { ...OPERATION_LIMITS });
    return (await this.database.call(find)) ?? undefined;
  }

  /** Stores what a unit of work returns, by its own transaction. @throws DuplicateValueError if there is a result */
  async storeResult(_id: string, result: unknown, transaction: Database): Promise<void> {
    const stored = { _id, ...expiring(), ...(result !== undefined && { result }) };
    await transaction.call(() => this.results.collection.insertOne(stored, { ...transaction.limits }));
  }

  /** Returns whether the key did not exist. */
  private async insert(key: IdempotencyKey): Promise<boolean> {
    try {
      await this.database.call(() => this.keys.collection.insertOne(key, { ...OPERATION_LIMITS }));
      return true;
    } catch (error) {
      if (error instanceof DuplicateValueError) return false;
      throw error;
    }
  }

  private async find(id: string): Promise<IdempotencyKey | undefined> {
    const options = { ...OPERATION_LIMITS, promoteBuffers: true };
    const found =
      (await this.database.call(() => this.keys.collection.findOne({ _id: id }, options))) ?? undefined;
    return found?.answer ? { ...found, answer: await decompressed(found.answer) } : found;
  }

  private async change(filter: object, change: object): Promise<boolean> {
    const update = () => this.keys.collection.updateOne(filter, change, { ...OPERATION_LIMITS });
    const { matchedCount } = await this.database.call(update);
    return matchedCount > 0;
  }
}

/** SHA-256 of the body: of its bytes or, if a parser of the application has read them, of its value as JSON. */
function bodyHashOf({ body, crudBodyHash }: HttpRequest): string {
  if (crudBodyHash !== undefined || body === undefined) return crudBodyHash ?? '';
  return createHash('sha256').update(JSON.stringify(body)).digest('hex');
}

function leased(): { leaseUntil: Date } {
  return { leaseUntil: new Date(Date.now() + LEASE_MS) };
}

function expiring(): { expiresAt: Date } {
  return { expiresAt: new Date(Date.now() + RETENTION_MS) };
}

async function compressed({ body, ...response }: Replay): Promise<Replay> {
  if (body.length < COMPRESSED_FROM) return { ...response, body };
  return { ...response, body: await promisify(gzip)(body), coding: 'gzip' };
}

async function decompressed({ coding, ...response }: Replay): Promise<Replay> {
  return coding ? { ...response, body: await promisify(gunzip)(response.body) } : response;
}
