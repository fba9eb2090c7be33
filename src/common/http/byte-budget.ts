import type { Socket } from 'node:net';
import { OverloadedError, TooManyRequestsError } from '../errors/index.js';
import { type HttpRequest, rawOf } from '../platform/index.js';
import { clientOf } from './client-limits.js';

/** Maximum total size of answers held in memory. Unit: bytes. */
const MAX_BYTES = 128 * 1_048_576;
/** Maximum total size of one client's answers. Unit: bytes. */
const MAX_CLIENT_BYTES = MAX_BYTES / 2;
/** How long a request waits for memory; less than the time it has for its answer. Unit: milliseconds. */
const MAX_WAIT_MS = 3_500;
/** Maximum number of waiting requests. */
const MAX_WAITING = 200;
/** One client's share of them while other clients wait. */
const CLIENT_SHARE = MAX_WAITING / 8;

interface Waiting {
  readonly client: string;
  readonly bytes: number;
  readonly proceed: () => void;
  readonly refuse: (error: Error) => void;
}

/** The part of the budget that one answer holds. */
export interface Reservation {
  /** Adjusts the reservation to the real size of the answer. Unit: bytes. */
  resize(bytes: number): void;
  /** Releases the bytes. Later calls change nothing. */
  release(): void;
}

/**
 * Divides memory among large answers. Those that do not fit wait, and clients take turns. One client may take
 * all waiting places, but gives them up to others.
 */
export class ByteBudget {
  private used = 0;
  private readonly usedBy = new Map<string, number>();
  /** Waiting requests by client. It is the first client's turn. */
  private readonly queues = new Map<string, Waiting[]>();
  private waiting = 0;
  private readonly holders = new MemoryHolders(() => this.waiting > 0);

  /**
   * Waits until this many bytes are free.
   *
   * @throws OverloadedError, TooManyRequestsError if they are not free in time, or if too many requests wait
   */
  async reserve(request: HttpRequest, bytes: number): Promise<Reservation> {
    const client = clientOf(request);
    if (this.isFree(request, bytes)) this.take(client, bytes);
    else await this.wait(client, bytes);
    const { socket } = rawOf(request);
    this.holders.add(socket);
    let held = bytes;
    let isReleased = false;
    const resize = (now: number) => {
      if (isReleased) return;
      this.take(client, now - held);
      held = now;
      this.admit();
    };
    const release = () => {
      if (isReleased) return;
      resize(0);
      isReleased = true;
      this.holders.remove(socket);
    };
    return { resize, release };
  }

  /** Whether a request would get this many bytes without waiting. */
  isFree(request: HttpRequest, bytes: number): boolean {
    const client = clientOf(request);
    return !this.queues.has(client) && this.fits(client, bytes);
  }

  private wait(client: string, bytes: number): Promise<void> {
    if (this.waiting >= MAX_WAITING) this.makeRoom(client);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.leave(waiting);
        reject(new OverloadedError());
      }, MAX_WAIT_MS);
      const waiting = {
        client,
        bytes,
        proceed: () => {
          clearTimeout(timer);
          resolve();
        },
        refuse: (error: Error) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      const queue = this.queues.get(client);
      if (queue) queue.push(waiting);
      else this.queues.set(client, [waiting]);
      this.waiting += 1;
      this.holders.watch();
      this.admit();
    });
  }

  /**
   * Rejects the last request in the longest queue in favour of a client with a shorter one; throws if there
   * is none.
   */
  private makeRoom(client: string): void {
    const own = this.queues.get(client)?.length ?? 0;
    const longest = [...this.queues.values()].reduce((a, b) => (b.length > a.length ? b : a));
    const last = longest.at(-1);
    if (!last || longest.length <= own + 1) throw refusalOf(own, this.queues.size > 1);
    last.refuse(refusalOf(longest.length, true));
    this.leave(last);
  }

  private leave(waiting: Waiting): void {
    const queue = this.queues.get(waiting.client) ?? [];
    queue.splice(queue.indexOf(waiting), 1);
    this.waiting -= 1;
    if (queue.length === 0) this.queues.delete(waiting.client);
  }

  private admit(): void {
    for (let next = this.next(); next; next = this.next()) {
      const { client, bytes, proceed } = next;
      this.leave(next);
      this.endTurn(client);
      this.take(client, bytes);
      proceed();
    }
  }

  /** The first request that fits, of the first client that has one. */
  private next(): Waiting | undefined {
    for (const queue of this.queues.values()) {
      const found = queue.find(({ client, bytes }) => this.fits(client, bytes));
      if (found) return found;
    }
    return undefined;
  }

  private endTurn(client: string): void {
    const queue = this.queues.get(client);
    if (!queue) return;
    this.queues.delete(client);
    this.queues.set(client, queue);
  }

  /** An answer that is larger than the whole budget fits if it is the only one. */
  private fits(client: string, bytes: number): boolean {
    const ofClient = this.usedBy.get(client) ?? 0;
    return (
      (this.used === 0 || this.used + bytes <= MAX_BYTES) &&
      (ofClient === 0 || ofClient + bytes <= MAX_CLIENT_BYTES)
    );
  }

  private take(client: string, bytes: number): void {
    this.used += bytes;
    const left = (this.usedBy.get(client) ?? 0) + bytes;
    if (left > 0) this.usedBy.set(client, left);
    else this.usedBy.delete(client);
  }
}

/** Why a request is rejected: because of its client's other waiting requests, or because of everybody's. */
function refusalOf(own: number, hasCompany: boolean): Error {
  return hasCompany && own > CLIENT_SHARE ? new TooManyRequestsError('share', 1) : new OverloadedError();
}

/**
 * How long a client may take nothing of its answer while others wait for the memory, who give up
 * later than this. Unit: milliseconds.
 */
const PATIENCE_MS = 2_000;
/** How often that is looked at. Unit: milliseconds. */
const CHECK_MS = 250;

interface Holder {
  answers: number;
  /** What the client has taken so far. Unit: bytes. */
  taken: number;
  /** When it last took something, as far as is known. Unit: milliseconds. */
  at: number;
}

/**
 * The connections whose answers hold memory. If others wait for it, a connection whose client takes nothing is
 * closed, long before its time-out: otherwise, a few of them would keep everybody else out.
 */
class MemoryHolders {
  private readonly holders = new Map<Socket, Holder>();
  private timer?: NodeJS.Timeout;

  /** @param isWanted whether others wait for memory */
  constructor(private readonly isWanted: () => boolean) {}

  add(socket: Socket): void {
    const holder = this.holders.get(socket) ?? { answers: 0, taken: 0, at: performance.now() };
    holder.answers += 1;
    this.holders.set(socket, holder);
  }

  remove(socket: Socket): void {
    const holder = this.holders.get(socket);
    if (holder && --holder.answers === 0) this.holders.delete(socket);
  }

  /** Watches them for as long as others wait. */
  watch(): void {
    if (this.timer) return;
    this.check();
    this.timer = setInterval(() => {
      if (this.isWanted()) return this.check();
      clearInterval(this.timer);
      this.timer = undefined;
    }, CHECK_MS).unref();
  }

  private check(): void {
    const now = performance.now();
    for (const [socket, holder] of this.holders) {
      const taken = socket.bytesWritten - socket.writableLength;
      // With nothing to take, it is the service that takes its time.
      if (socket.writableLength === 0 || taken !== holder.taken) Object.assign(holder, { taken, at: now });
      else if (now - holder.at > PATIENCE_MS) socket.destroy();
    }
  }
}
