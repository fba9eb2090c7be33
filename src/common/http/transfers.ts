import type { FastifyInstance, FastifyRequest } from 'fastify';
import { OverloadedError, TooManyListsError } from '../errors/index.js';
import { ByteBudget } from './byte-budget.js';
import { clientOf } from './client-of.js';

/** Limits of lists that are read while they are sent. */
export interface TransferLimits {
  /** Maximum number of lists at a time in this process. @default 64 */
  readonly maxInAll: number;
  /**
   * Maximum number of lists at a time per client: its tenant or, without a token, its address.
   *
   * @default 16
   */
  readonly maxPerClient: number;
}

const LIMITS: TransferLimits = { maxInAll: 64, maxPerClient: 16 };

/** Number of parts of lists to make at a time: while one waits for the database, another one is written. */
const PARTS_AT_A_TIME = 2;

/** Time after which a part, such as one from a slow source, no longer blocks others. Unit: milliseconds. */
const MAX_PART_MS = 50;

declare module 'fastify' {
  interface FastifyInstance {
    transfers: Transfers;
  }
}

/** Resources of an answer that is made while it is sent. */
export interface Place {
  /** Makes a part of the answer when it is its turn. Between two parts, other work is done. */
  turn<T>(make: () => Promise<T>): Promise<T>;
  /** Releases the place. Only the first call has an effect. */
  leave(): void;
}

/** The long answers of this process. They take turns, so that other requests need not wait for them. */
export class Transfers {
  /** Memory for answers that are held as a whole while they are sent. */
  readonly budget = new ByteBudget();
  private readonly limits: TransferLimits;
  /** Number of lists by client. */
  private readonly taken = new Map<string, number>();
  private takenInAll = 0;
  private running = 0;
  private readonly waiting: (() => void)[] = [];

  constructor(fastify: FastifyInstance, limits: Partial<TransferLimits> = {}) {
    this.limits = { ...LIMITS, ...limits };
    fastify.decorate('transfers', { getter: (): never => this as never });
  }

  /**
   * Takes a place for a whole list.
   *
   * @throws TooManyListsError, OverloadedError if there is none
   */
  listPlace(request: FastifyRequest): Place {
    const client = clientOf(request);
    const taken = this.taken.get(client) ?? 0;
    if (taken >= this.limits.maxPerClient) throw new TooManyListsError(this.limits.maxPerClient);
    if (this.takenInAll >= this.limits.maxInAll) throw new OverloadedError();
    this.taken.set(client, taken + 1);
    this.takenInAll += 1;
    return this.place(() => {
      this.takenInAll -= 1;
      const left = (this.taken.get(client) ?? 1) - 1;
      if (left > 0) this.taken.set(client, left);
      else this.taken.delete(client);
    });
  }

  /** A place for a page; their number is not limited. */
  pagePlace(): Place {
    return this.place(() => undefined);
  }

  private place(release: () => void): Place {
    let isTaken = true;
    const leave = () => {
      if (isTaken) release();
      isTaken = false;
    };
    return { turn: (make) => this.turn(make), leave };
  }

  private async turn<T>(make: () => Promise<T>): Promise<T> {
    if (this.running >= PARTS_AT_A_TIME) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running += 1;
    let isOver = false;
    const end = () => {
      if (isOver) return;
      isOver = true;
      setImmediate(() => this.next());
    };
    const timer = setTimeout(end, MAX_PART_MS);
    try {
      return await make();
    } finally {
      clearTimeout(timer);
      end();
    }
  }

  private next(): void {
    const proceed = this.waiting.shift();
    if (proceed) proceed();
    else this.running -= 1;
  }
}
