import type { FastifyRequest } from 'fastify';
import { OverloadedError } from '../errors/index.js';
import { clientOf } from './client-of.js';

/** Maximum size of all answers that are held in memory. Unit: bytes. */
const MAX_BYTES = 128 * 1_048_576;
/** Maximum size of those of one client. Unit: bytes. */
const MAX_CLIENT_BYTES = MAX_BYTES / 2;
/** How long a request waits for its part; less than it has for its answer. Unit: milliseconds. */
const MAX_WAIT_MS = 3_500;
/** Requests that wait at a time. */
const MAX_WAITING = 200;

interface Waiting {
  readonly client: string;
  readonly bytes: number;
  readonly proceed: () => void;
}

/** Bytes of the budget that belong to one answer. */
export interface Reservation {
  /** Takes note of what the answer really takes. Unit: bytes. */
  resize(bytes: number): void;
  /** Gives them back; nothing changes them afterwards. */
  release(): void;
}

/** Divides memory among large answers: those that do not fit wait for their turn, in the order of their arrival. */
export class ByteBudget {
  private used = 0;
  private readonly usedBy = new Map<string, number>();
  private readonly waiting = new Set<Waiting>();

  /**
   * Waits until so many bytes are free.
   *
   * @throws OverloadedError if they are not in time
   */
  async reserve(request: FastifyRequest, bytes: number): Promise<Reservation> {
    const client = clientOf(request);
    if (this.isFree(request, bytes)) this.take(client, bytes);
    else await this.wait(client, bytes);
    let held = bytes;
    let isReleased = false;
    const resize = (now: number) => {
      if (isReleased) return;
      this.take(client, now - held);
      held = now;
      this.admit();
    };
    const release = () => {
      resize(0);
      isReleased = true;
    };
    return { resize, release };
  }

  /** Whether a request need not wait for so many bytes. */
  isFree(request: FastifyRequest, bytes: number): boolean {
    return this.waiting.size === 0 && this.fits(clientOf(request), bytes);
  }

  private wait(client: string, bytes: number): Promise<void> {
    if (this.waiting.size >= MAX_WAITING) throw new OverloadedError();
    return new Promise((resolve, reject) => {
      const waiting = {
        client,
        bytes,
        proceed: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.waiting.delete(waiting);
        reject(new OverloadedError());
      }, MAX_WAIT_MS);
      this.waiting.add(waiting);
      this.admit();
    });
  }

  private admit(): void {
    for (const one of this.waiting) {
      if (!this.fits(one.client, one.bytes)) continue;
      this.waiting.delete(one);
      this.take(one.client, one.bytes);
      one.proceed();
    }
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
