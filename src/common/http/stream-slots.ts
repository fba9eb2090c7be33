import type { ServerResponse } from 'node:http';
import { OverloadedError, TooManyStreamsError } from '../errors/index.js';
import { type HttpRequest, type HttpResponse, rawOf } from '../request/index.js';
import { FairShare, ownerOf, type QueuedSlot, type ShareLimits } from './fair-share.js';

/** Limits of responses that are made while they are sent; a client is a tenant or, without a token, an address. */
const LIMITS = {
  /** Whole lists. @default { maxInAll: 64, maxPerClient: 16 } */
  lists: { maxInAll: 64, maxPerClient: 16 },
  /** Imports. @default { maxInAll: 16, maxPerClient: 4 } */
  imports: { maxInAll: 16, maxPerClient: 4 },
} satisfies Record<string, ShareLimits>;
export type StreamLimits = { readonly [Kind in keyof typeof LIMITS]: ShareLimits };

/** How many parts of long responses are made at a time: while one waits for the database, another one is written. */
const PARTS = { maxInAll: 2 };
/** Time after which a part, such as one from a slow source, no longer blocks others. Unit: milliseconds. */
const MAX_PART_MS = 50;

/** A piece of the memory for large pages. Unit: bytes. */
const PIECE = 262_144;
/** The memory for large pages: 128 MiB, half of it for one client. Unit: pieces; milliseconds. */
const MEMORY = { maxInAll: 512, maxPerClient: 256, maxWaitMs: 3_500 };
/** How long a client may take nothing of its page while others wait for the memory. Unit: milliseconds. */
const PATIENCE_MS = 2_000;

/** Atomic bulks: one at a time, since others wait for the transaction of the embedded database. Unit: requests; milliseconds. */
const ATOMIC_BULKS = { maxInAll: 1, maxWaitMs: 2_500 };

/** Where load is not limited, how many items of batches are carried out at a time. */
const ITEMS = { maxInAll: 32 };

declare module '../request/index.js' {
  interface Platform {
    readonly streamSlots: StreamSlots;
  }
  interface RequestContext {
    /** When the request is answered with a 503, by `performance.now()`. @default never */
    endsAt?: number;
  }
  interface RequestState {
    /** The slot of the request among the running ones; null before and after, and where load is not limited. */
    load?: { slot: QueuedSlot; deadline: NodeJS.Timeout } | null;
  }
}

/** The right to send a response that is made while it is sent. */
export interface Slot {
  /** Makes a part of the response when it is its turn. Between two parts, other work is done. */
  turn<T>(make: () => Promise<T>): Promise<T>;
  /** Aborted with an OverloadedError if the slot goes to another client. */
  readonly lost: AbortSignal;
  /** Releases the slot. Only the first call has an effect. */
  leave(): void;
}

/** The memory of a large page. */
export interface PageSlot extends Slot {
  /** Adjusts it to the real size of the page. Unit: bytes. */
  resize(bytes: number): void;
}

/** A request with many items, and its response. */
export interface BatchRequest {
  readonly request: HttpRequest;
  readonly reply: HttpResponse;
}

/** The long responses, large pages and batches of this process, for which other requests need not wait. */
export class StreamSlots {
  private readonly streams: Readonly<Record<keyof StreamLimits, FairShare>>;
  private readonly parts = new FairShare(PARTS);
  private readonly memory = new FairShare(MEMORY);
  private readonly atomicBulks = new FairShare(ATOMIC_BULKS);
  /** The pages that have memory, and since when their clients take nothing; Infinity while a part is made. */
  private readonly readers = new Set<{ since: number; readonly giveUp: () => void }>();

  /** @param requests the slots of requests, which the items of batches take, too */
  constructor(
    limits: Partial<StreamLimits> = {},
    private readonly requests = new FairShare(ITEMS),
  ) {
    const { lists, imports } = { ...LIMITS, ...limits };
    this.streams = { lists: new FairShare(lists), imports: new FairShare(imports) };
  }

  /** Takes a slot for a whole list, or for an import. @throws TooManyStreamsError, OverloadedError if there is none */
  take(kind: keyof StreamLimits, request: HttpRequest): Slot {
    const lost = new AbortController();
    const leave = this.streams[kind].hold(
      ownerOf(request),
      () => lost.abort(new OverloadedError()),
      (max) => new TooManyStreamsError(kind, max),
    );
    return { ...this.pageSlot(request), lost: lost.signal, leave };
  }

  /** A slot for a page that needs no memory of its own; their number is not limited. */
  pageSlot(request: HttpRequest): Slot {
    const { signal: lost } = new AbortController();
    return { turn: (make) => this.turn(request, make), lost, leave: () => undefined };
  }

  /**
   * Waits for the memory of a large page. While others wait, a client that takes nothing of its page loses its memory.
   *
   * @throws OverloadedError, TooManyRequestsError if it would not be free in time, or the client goes away
   */
  async largePage({ request, reply }: BatchRequest, bytes: number): Promise<PageSlot> {
    const impatience = setInterval(() => {
      const before = performance.now() - PATIENCE_MS;
      for (const { since, giveUp } of this.readers) if (since <= before) giveUp();
    }, PATIENCE_MS);
    const slot = await slotAside(this.memory, { request, reply }, Math.ceil(bytes / PIECE)).finally(() =>
      clearInterval(impatience),
    );
    const lost = new AbortController();
    const reader = { since: Infinity, giveUp: () => lost.abort(new OverloadedError()) };
    this.readers.add(reader);
    return {
      turn: (make) => {
        reader.since = Infinity;
        return this.turn(request, make).finally(() => (reader.since = performance.now()));
      },
      lost: lost.signal,
      resize: (real) => slot.resize(real <= PIECE ? 0 : Math.ceil(real / PIECE)),
      leave: () => {
        this.readers.delete(reader);
        slot.leave();
      },
    };
  }

  /** Carries out an atomic bulk when it is its turn. @throws the errors of {@link largePage} */
  async atomicBulk<T>(batch: BatchRequest, work: () => Promise<T>): Promise<T> {
    const slot = await slotAside(this.atomicBulks, batch);
    const begun = performance.now();
    try {
      return await work();
    } finally {
      // Others have as much time until the next one as this one took.
      const rest = this.requests.running > 1 ? performance.now() - begun : 0;
      setTimeout(() => slot.leave(), rest).unref();
    }
  }

  /**
   * Carries out the items of a batch, which begin in their order. The batch waits for one slot, unless it still has that of
   * its own request. While its client's share has more slots, it uses them at the same time.
   *
   * @throws OverloadedError if the client goes away before its turn
   */
  async carryOut<Item, Result>(
    { request, reply }: BatchRequest,
    items: readonly Item[],
    carryOut: (item: Item) => Result | Promise<Result>,
  ): Promise<Result[]> {
    const owner = ownerOf(request);
    const first = request.load ? undefined : this.requests.slotFor(owner);
    if (first) await untilTurn(first, rawOf(reply));
    const rest = items.entries();
    const results: Result[] = [];
    const work = async (slot?: QueuedSlot) => {
      try {
        for (const [i, item] of rest) results[i] = await carryOut(item);
      } finally {
        slot?.leave();
      }
    };
    const works = [work(first)];
    while (works.length < items.length) {
      const slot = this.requests.slotBeside(owner);
      if (!slot) break;
      works.push(work(slot));
    }
    await Promise.all(works);
    return results;
  }

  private async turn<T>(request: HttpRequest, make: () => Promise<T>): Promise<T> {
    const slot = this.parts.slotFor(ownerOf(request));
    await new Promise<void>((resolve) => slot.take(resolve));
    const end = () => setImmediate(() => slot.leave());
    const timer = setTimeout(end, MAX_PART_MS);
    try {
      return await make();
    } finally {
      clearTimeout(timer);
      end();
    }
  }
}

/** Takes a slot of a share. While a request waits for it, others take the slot of the request itself. */
async function slotAside(share: FairShare, { request, reply }: BatchRequest, size = 1): Promise<QueuedSlot> {
  const owner = ownerOf(request);
  const slot = share.slotFor(owner, size);
  if (share.isFree(owner, size)) {
    slot.take(() => undefined);
    return slot;
  }
  const rejection = share.rejection(owner);
  if (rejection) throw rejection;
  const { load } = request;
  load?.slot.leave();
  await untilTurn(slot, rawOf(reply));
  // Unless the request has been given up.
  if (load && load === request.load)
    await untilTurn(load.slot, rawOf(reply)).catch((error: unknown) => {
      slot.leave();
      throw error;
    });
  return slot;
}

/** Waits for a slot. @throws OverloadedError if the response is closed before */
function untilTurn(slot: QueuedSlot, raw: ServerResponse): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      slot.leave();
      reject(new OverloadedError());
    };
    if (raw.destroyed || raw.writableEnded) return giveUp();
    raw.once('close', giveUp);
    slot.take(() => {
      raw.off('close', giveUp);
      resolve();
    });
  });
}
