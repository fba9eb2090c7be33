import { performance } from 'node:perf_hooks';

/** How many requests are carried out at a time, and how many wait. */
export interface FairQueueOptions {
  /** Maximum number of requests to carry out at a time. */
  readonly maxRunningRequests: number;
  /** A request that would probably wait longer is rejected. Unit: milliseconds. */
  readonly maxWaitMs: number;
}

/** Why a request is rejected: all clients together, or its own client, have too many requests. */
export type QueueRefusal = 'overloaded' | 'client';

/** A place in the queue. */
export interface Place {
  /** Calls a function, at once or when it is its turn. A place that was left can be taken again. */
  take(start: () => void): void;
  /** Passes the place on to the next request, even before its turn. A second call changes nothing. */
  leave(): void;
}

/** One client's share of the running requests while there are other clients. */
const CLIENT_SHARE = 1 / 8;
/**
 * How long after its last request a client still counts, at least; at most twice as long. Unit: milliseconds.
 */
const RECENT_MS = 1_000;
/** What one client's batches may have of all places, if there are no other clients. */
const BATCH_SHARE = 1 / 4;
/** Maximum number of waiting requests, whatever the pace. */
const MAX_WAITING = 4_000;
/** Maximum number of one client's waiting requests while others are served at once. */
const MAX_WAITING_OF_ONE = MAX_WAITING * CLIENT_SHARE;
/** How much longer than others a client may wait behind its own requests, since that delays nobody else. */
const OWN_PATIENCE = 6;

/** The requests of one client. */
class Client {
  running = 0;
  readonly waiting = new Set<() => void>();
  readonly pace = new Pace();

  constructor(readonly name: string) {}
}

/**
 * Limits the requests that are carried out at a time. The others wait, and clients take turns. One client may
 * use all places, but only {@link CLIENT_SHARE} of them while there are other clients.
 */
export class FairQueue {
  private readonly clients = new Map<string, Client>();
  /** Clients with waiting requests. It is the first client's turn. */
  private readonly turns = new Set<Client>();
  private readonly pace = new Pace();
  private readonly share: number;
  private recent = new Set<string>();
  private earlier = new Set<string>();
  private rotated = 0;
  running = 0;
  waiting = 0;

  constructor(private readonly options: FairQueueOptions) {
    this.share = Math.max(1, Math.floor(options.maxRunningRequests * CLIENT_SHARE));
  }

  /** Why a request of a client would be rejected now; undefined if it would be accepted. */
  refusal(name: string): QueueRefusal | undefined {
    const client = this.clients.get(name);
    const hasRoom = this.running < this.options.maxRunningRequests;
    if (hasRoom && !client?.waiting.size) return undefined;
    const now = performance.now();
    const own = (client?.waiting.size ?? 0) + 1;
    const { maxWaitMs } = this.options;
    const hasCompany = this.turns.size > 1 || this.isContended;
    if (client && (hasCompany || hasRoom) && client.pace.timeOf(own, now) > maxWaitMs * OWN_PATIENCE)
      return 'client';
    // It waits only for its client's own requests, so the overall pace does not matter.
    if (hasRoom && own <= MAX_WAITING_OF_ONE) return undefined;
    const before = Math.min(this.waiting + 1, own * (this.turns.size + 1));
    if (this.waiting < MAX_WAITING && this.pace.timeOf(before, now) <= maxWaitMs) return undefined;
    return hasCompany && own > this.share ? 'client' : 'overloaded';
  }

  /** A place for a request of a client. */
  placeFor(name: string): Place {
    this.notice(name);
    let taken: { client: Client; start: () => void } | undefined;
    const take = (start: () => void) => {
      const client = this.clients.get(name) ?? new Client(name);
      this.clients.set(name, client);
      taken = { client, start };
      this.take(client, start);
    };
    const leave = () => {
      const left = taken;
      taken = undefined;
      if (left) this.leave(left.client, left.start);
    };
    return { take, leave };
  }

  /**
   * One more place for what a client already does, which then has several; undefined if that would keep others waiting.
   * The client's own other requests find places as well, even while there are no other clients.
   */
  placeBeside(name: string): Pick<Place, 'leave'> | undefined {
    const { maxRunningRequests } = this.options;
    const most = this.isContended ? this.share : maxRunningRequests * BATCH_SHARE;
    const running = this.clients.get(name)?.running ?? 0;
    if (this.waiting > 0 || this.running >= maxRunningRequests || running >= most) return undefined;
    const place = this.placeFor(name);
    place.take(() => undefined);
    return place;
  }

  private take(client: Client, start: () => void): void {
    if (client.waiting.size === 0 && this.mayRun(client)) {
      this.run(client, start, false);
      return;
    }
    client.waiting.add(start);
    this.waiting += 1;
    this.turns.add(client);
  }

  private leave(client: Client, start: () => void): void {
    if (client.waiting.delete(start)) {
      this.waiting -= 1;
    } else {
      client.running -= 1;
      this.running -= 1;
    }
    if (client.waiting.size === 0) this.turns.delete(client);
    if (client.running + client.waiting.size === 0) this.clients.delete(client.name);
    this.next();
  }

  private run(client: Client, start: () => void, waited: boolean): void {
    const now = performance.now();
    this.pace.turn(now, waited);
    client.pace.turn(now, waited);
    client.running += 1;
    this.running += 1;
    start();
  }

  private next(): void {
    let held = 0;
    while (this.running < this.options.maxRunningRequests && held < this.turns.size) {
      const [client] = this.turns;
      if (!client) return;
      // After its turn, a client goes to the end.
      this.turns.delete(client);
      this.turns.add(client);
      const [start] = client.waiting;
      if (!start || !this.mayRun(client)) {
        held += 1;
        continue;
      }
      held = 0;
      client.waiting.delete(start);
      this.waiting -= 1;
      if (client.waiting.size === 0) this.turns.delete(client);
      this.run(client, start, true);
    }
  }

  private mayRun(client: Client): boolean {
    if (this.running >= this.options.maxRunningRequests) return false;
    return client.running < this.share || !this.isContended;
  }

  /** Whether there are several clients. */
  private get isContended(): boolean {
    return Math.max(this.recent.size, this.earlier.size) > 1;
  }

  private notice(name: string): void {
    const now = performance.now();
    if (now - this.rotated > RECENT_MS) {
      this.earlier = now - this.rotated > 2 * RECENT_MS ? new Set() : this.recent;
      this.recent = new Set();
      this.rotated = now;
    }
    this.recent.add(name);
  }
}

/** Weight of the latest interval in the average. */
const WEIGHT = 0.1;

/** How quickly turns follow each other while requests wait. Unit of its times: milliseconds. */
class Pace {
  private average = 0;
  private last = performance.now();

  /** Records a turn. @param hurried whether a request had waited for it */
  turn(now: number, hurried: boolean): void {
    if (hurried) this.average += WEIGHT * (now - this.last - this.average);
    this.last = now;
  }

  /** How long the next turns will probably take; at least as long as the time since the last one. */
  timeOf(turns: number, now: number): number {
    return Math.max(turns * this.average, now - this.last);
  }
}
