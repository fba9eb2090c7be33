import { createHash } from 'node:crypto';
import { Types } from 'mongoose';
import { DuplicateValueError } from '../errors/index.js';
import type { TenantScope } from '../tenancy/index.js';

/** How to find and how to store one record of a known identifier. */
export interface InsertSteps<T> {
  /** The record, if an earlier attempt has stored it. */
  find(id: Types.ObjectId): Promise<T | undefined>;
  /** Stores it; without an identifier as usual. */
  insert(id?: Types.ObjectId): Promise<T>;
}

/**
 * The right to carry out the request of a key. It knows the identifiers of the records that the request creates, the same
 * ones in every attempt, so that no attempt can store a record a second time.
 */
export class Reservation {
  private readonly used = new Map<string, Set<number>>();

  constructor(
    /** Identifier of the stored key. */
    readonly id: string,
    readonly owner: string,
    private readonly seed: Types.ObjectId,
    /** Whether an earlier attempt may have stored something. */
    readonly resumed: boolean,
    private readonly item = '',
  ) {}

  /**
   * Stores a record of a resource at most once, however many attempts and processes try: an attempt after the first looks
   * for it before it writes, and a duplicate is the record of another attempt, if that is there.
   */
  async once<T>(resource: string, { find, insert }: InsertSteps<T>): Promise<T> {
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
      // What was refused may be tried again with other values, and is still the same record.
      numbers.delete(number);
      throw error;
    }
  }

  /** The first record of a resource, if an earlier attempt has stored it and this one has not asked for it. */
  async recall<T>(resource: string, find: InsertSteps<T>['find']): Promise<T | undefined> {
    const isAskedFor = this.numbersOf(resource).size > 0;
    return this.resumed && !isAskedFor ? find(this.idOf(resource, 0)) : undefined;
  }

  /**
   * The part of one item in a request that creates many records: its records keep their identifiers in a later attempt,
   * whatever becomes of the items before it.
   *
   * @param number of the item, from 0
   */
  ofItem(number: number): Reservation {
    return new Reservation(this.id, this.owner, this.seed, this.resumed, String(number));
  }

  private numbersOf(resource: string): Set<number> {
    const numbers = this.used.get(resource) ?? new Set();
    this.used.set(resource, numbers);
    return numbers;
  }

  /** An identifier with the time of the reservation, as every other has that of its creation. */
  private idOf(resource: string, number: number): Types.ObjectId {
    const name = [this.seed.toHexString(), this.item, resource, number].join('/');
    const hash = createHash('sha256').update(name).digest();
    return new Types.ObjectId(Buffer.concat([this.seed.id.subarray(0, 4), hash.subarray(0, 8)]));
  }
}

const reservations = new WeakMap<TenantScope, Reservation>();

/** Binds the reservation of a request to its scope, so that an override cannot lose it. */
export function bindReservation(scope: TenantScope, reservation: Reservation): void {
  reservations.set(scope, reservation);
}

/** The reservation of a scope's request; undefined if that has no key. */
export function reservationOf(scope: TenantScope): Reservation | undefined {
  return reservations.get(scope);
}
