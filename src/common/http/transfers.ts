import { OverloadedError, TooManyStreamsError } from '../errors/index.js';
import type { HttpRequest } from '../platform/index.js';
import { ByteBudget } from './byte-budget.js';
import { FairSlots, type SlotLimits, type SlotOwner, slotOwnerOf } from './client-limits.js';
import { FairQueue } from './fair-queue.js';

/** Limits of answers that are made while they are sent; a client is a tenant or, without a token, an address. */
export interface TransferLimits {
  /** Whole lists. @default { maxInAll: 64, maxPerClient: 16 } */
  readonly lists: SlotLimits;
  /** Imports. @default { maxInAll: 16, maxPerClient: 4 } */
  readonly imports: SlotLimits;
}

const LIMITS: TransferLimits = {
  lists: { maxInAll: 64, maxPerClient: 16 },
  imports: { maxInAll: 16, maxPerClient: 4 },
};

/** How many parts of lists are made at a time: while one waits for the database, another one is written. */
const PARTS = { maxRunningRequests: 2, maxWaitMs: Infinity };

/** Time after which a part, such as one from a slow source, no longer blocks others. Unit: milliseconds. */
const MAX_PART_MS = 50;

declare module '../platform/index.js' {
  interface Platform {
    readonly transfers: Transfers;
  }
}

/** Resources of an answer that is made while it is sent. */
export interface Place {
  /** Makes a part of the answer when it is its turn. Between two parts, other work is done. */
  turn<T>(make: () => Promise<T>): Promise<T>;
  /** Aborted with an OverloadedError if the place goes to a client that has fewer. */
  readonly lost: AbortSignal;
  /** Releases the place. Only the first call has an effect. */
  leave(): void;
}

/** The long answers of this process. They take turns, so that other requests need not wait for them. */
export class Transfers {
  /** Memory for answers that are held as a whole while they are sent. */
  readonly budget = new ByteBudget();
  private readonly slots: Readonly<Record<keyof TransferLimits, FairSlots>>;
  private readonly parts = new FairQueue(PARTS, false);

  constructor(limits: Partial<TransferLimits> = {}) {
    const slotsOf = (kind: keyof TransferLimits) =>
      new FairSlots({ ...LIMITS, ...limits }[kind], (max) => new TooManyStreamsError(kind, max));
    this.slots = { lists: slotsOf('lists'), imports: slotsOf('imports') };
  }

  /**
   * Takes a place for a whole list, or for an import.
   *
   * @throws TooManyStreamsError, OverloadedError if there is none
   */
  place(kind: keyof TransferLimits, request: HttpRequest): Place {
    const lost = new AbortController();
    const giveUp = () => lost.abort(new OverloadedError());
    const owner = slotOwnerOf(request);
    const leave = this.slots[kind].take(owner, giveUp);
    return { turn: (make) => this.turn(owner, make), lost: lost.signal, leave };
  }

  /** A place for a page; their number is not limited. */
  pagePlace(request: HttpRequest): Place {
    const owner = slotOwnerOf(request);
    return {
      turn: (make) => this.turn(owner, make),
      lost: new AbortController().signal,
      leave: () => undefined,
    };
  }

  private async turn<T>(owner: SlotOwner, make: () => Promise<T>): Promise<T> {
    const place = this.parts.placeFor(owner);
    await new Promise<void>((resolve) => place.take(resolve));
    const end = () => setImmediate(place.leave);
    const timer = setTimeout(end, MAX_PART_MS);
    try {
      return await make();
    } finally {
      clearTimeout(timer);
      end();
    }
  }
}
