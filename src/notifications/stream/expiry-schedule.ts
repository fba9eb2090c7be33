/** Something that ends when a token expires. */
interface Expiring {
  end(reason: string): void;
}

/** Ends streams when their tokens expire, using a single timer that fires at full seconds. */
export class ExpirySchedule {
  private readonly due = new Map<number, Set<Expiring>>();
  private timer?: NodeJS.Timeout;

  /** @param expires `exp` of the token (RFC 7519, section 4.1.4). Unit: seconds since the epoch. */
  add(stream: Expiring, expires: number): void {
    this.due.set(expires, (this.due.get(expires) ?? new Set()).add(stream));
    this.timer ??= this.nextSecond();
  }

  remove(stream: Expiring, expires: number): void {
    const streams = this.due.get(expires);
    streams?.delete(stream);
    if (streams?.size === 0) this.due.delete(expires);
    if (this.due.size > 0) return;
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private nextSecond(): NodeJS.Timeout {
    return setTimeout(() => this.endDue(), 1_000 - (Date.now() % 1_000));
  }

  private endDue(): void {
    this.timer = this.nextSecond();
    const now = Date.now() / 1_000;
    for (const [expires, streams] of this.due) {
      if (expires <= now) for (const stream of streams) stream.end('token expired');
    }
  }
}
