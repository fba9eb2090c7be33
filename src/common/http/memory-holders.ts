import type { Socket } from 'node:net';

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
export class MemoryHolders {
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
