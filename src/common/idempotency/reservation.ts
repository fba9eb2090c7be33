import { createHash } from 'node:crypto';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { Types } from 'mongoose';
import type { Database } from '../database/index.js';
import { DuplicateValueError } from '../errors/index.js';
import { contextOf, type HttpRequest } from '../request/index.js';
import type { IdempotencyKeys } from './idempotency-keys.js';

/** Finds a record that an earlier attempt has stored. */
type Find<T> = (id: Types.ObjectId) => Promise<T | undefined>;

/** The right to carry out the request of a key. Each attempt has the same identifiers, so that no record is stored twice. */
export class Reservation {
  private readonly used = new Map<string, Set<number>>();
  private units = 0;

  constructor(
    /** Identifier of the stored key. */
    readonly id: string,
    readonly owner: string,
    private readonly seed: Types.ObjectId,
    /** Whether an earlier attempt may have stored something. */
    readonly resumed: boolean,
    private readonly keys: IdempotencyKeys,
    private readonly item = '',
    /** Identifiers of the results of units that this attempt has stored. */
    readonly resultIds: string[] = [],
  ) {}

  /**
   * Stores a record of a resource at most once, however many attempts and processes try: a write that fails as a duplicate
   * has the record of another attempt.
   *
   * @param steps `insert` stores the record, with an identifier
   */
  async once<T>(
    resource: string,
    { find, insert }: { find: Find<T>; insert: (id: Types.ObjectId) => Promise<T> },
  ): Promise<T> {
    const numbers = this.numbersOf(resource);
    let number = 0;
    while (numbers.has(number)) number++;
    numbers.add(number);
    const id = this.idOf(resource, number);
    try {
      const earlier = this.resumed ? await find(id) : undefined;
      return earlier ?? (await insert(id));
    } catch (error) {
      const found = error instanceof DuplicateValueError ? await find(id) : undefined;
      if (found !== undefined) return found;
      // A rejected record may be tried again with other values; it is still the same record.
      numbers.delete(number);
      throw error;
    }
  }

  /** The first record of a resource, if an earlier attempt has stored it and this one has not asked for it. */
  async findFirst<T>(resource: string, find: Find<T>): Promise<T | undefined> {
    const isAskedFor = this.numbersOf(resource).size > 0;
    return this.resumed && !isAskedFor ? find(this.idOf(resource, 0)) : undefined;
  }

  /** The reservation for one item, such as its number. Its records keep their identifiers in later attempts. */
  ofItem(name: number | string): Reservation {
    const item = this.item === '' ? String(name) : `${this.item} ${name}`;
    return new Reservation(this.id, this.owner, this.seed, this.resumed, this.keys, item, this.resultIds);
  }

  /** The next unit of work of the request. However often the request is repeated, it is committed once. */
  nextUnit() {
    const number = this.units++;
    const id = this.idOf('unit of work', number).toHexString();
    return {
      /** For another attempt to carry it out. */
      reservation: () => this.ofItem(`unit ${number}`),
      /** What the unit has returned, if an earlier attempt, or another process, has committed it. */
      result: () => this.keys.findResult(id),
      /** Stores what the unit returns; the last operation of its transaction. */
      store: (result: unknown, transaction: Database) => {
        this.resultIds.push(id);
        return this.keys.storeResult(id, result, transaction);
      },
    };
  }

  private numbersOf(resource: string): Set<number> {
    const numbers = this.used.get(resource) ?? new Set();
    this.used.set(resource, numbers);
    return numbers;
  }

  /** An identifier with the time of the reservation, just as other identifiers contain their creation time. */
  private idOf(resource: string, number: number): Types.ObjectId {
    const name = [this.seed.toHexString(), this.item, resource, number].join('/');
    const hash = createHash('sha256').update(name).digest();
    return new Types.ObjectId(Buffer.concat([this.seed.id.subarray(0, 4), hash.subarray(0, 8)]));
  }
}

/** Injects the {@link Reservation} of a request with an `Idempotency-Key` into a hand-written handler. */
export const CurrentReservation = createParamDecorator(
  (_data: unknown, context: ExecutionContext): Reservation | undefined =>
    contextOf(context.switchToHttp().getRequest<HttpRequest>()).reservation,
);
