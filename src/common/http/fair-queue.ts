import { performance } from 'node:perf_hooks';
import { NETWORKS, type SlotOwner } from './client-limits.js';

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

/** What one client may have of all places, or of those of its group, while there are others. */
const SHARE = 1 / 8;
/** What all networks without a token may have together while there are tenants. */
const SHARE_OF_NETWORKS = 1 / 2;
/**
 * How long after its last request a client still counts, at least; at most twice as long. Unit: milliseconds.
 */
const RECENT_MS = 1_000;
/** What one client's batches may have of all places, if there are no other clients. */
const BATCH_SHARE = 1 / 4;
/** Maximum number of waiting requests, whatever the pace. */
const MAX_WAITING = 4_000;
/** Maximum number of one client's waiting requests while others are served at once. */
const MAX_WAITING_OF_ONE = MAX_WAITING * SHARE;
/** How much longer than others a client may wait behind its own requests, since that delays nobody else. */
const OWN_PATIENCE = 6;

/** A request that waits or is carried out: for all, for a group and for a client. */
interface Queued {
  readonly parties: readonly [Party, Party, Party];
  readonly start: () => void;
}

/**
 * Limits the requests that are carried out at a time. The others wait; groups take turns, and so do the clients of a
 * group. A group, and a client in its group, may use all places, but only a share of them while there are others.
 */
export class FairQueue {
  private readonly all = new Party(1);

  /** @param hasShares whether the places of a client are limited to a share while there are others */
  constructor(
    private readonly options: FairQueueOptions,
    private readonly hasShares = true,
  ) {}

  get running(): number {
    return this.all.running;
  }

  get waiting(): number {
    return this.all.waiting.size;
  }

  /** Why a request would be rejected now; undefined if it would be accepted. */
  refusal(owner: SlotOwner): QueueRefusal | undefined {
    const { maxRunningRequests, maxWaitMs } = this.options;
    const group = this.all.find(owner.group);
    const client = group?.find(owner.client);
    const hasRoom = this.running < maxRunningRequests;
    if (hasRoom && !group?.waiting.size) return undefined;
    const now = performance.now();
    const own = (client?.waiting.size ?? 0) + 1;
    const hasCompany = this.all.hasCompany || group?.hasCompany;
    if (client && (hasCompany || hasRoom) && client.pace.timeOf(own, now) > maxWaitMs * OWN_PATIENCE)
      return 'client';
    const inGroup = group?.turnOf(own) ?? 1;
    // It waits only for its client's own requests, so the overall pace does not matter.
    if (hasRoom && inGroup === own && own <= MAX_WAITING_OF_ONE) return undefined;
    const { pace } = (hasRoom && group) || this.all;
    const before = hasRoom ? inGroup : this.all.turnOf(inGroup);
    if (this.waiting < MAX_WAITING && pace.timeOf(before, now) <= maxWaitMs) return undefined;
    return hasCompany && own > maxRunningRequests * SHARE ? 'client' : 'overloaded';
  }

  /** A place for a request. */
  placeFor(owner: SlotOwner): Place {
    this.partiesOf(owner);
    let taken: Queued | undefined;
    const take = (start: () => void) => {
      taken = { parties: this.partiesOf(owner), start };
      this.take(taken);
    };
    const leave = () => {
      const left = taken;
      taken = undefined;
      if (left) this.leave(left);
    };
    return { take, leave };
  }

  /**
   * One more place for what a client already does, which then has several; undefined if that would keep others waiting.
   * The client's own other requests find places as well, even while there are no other clients.
   */
  placeBeside(owner: SlotOwner): Pick<Place, 'leave'> | undefined {
    const parties = this.partiesOf(owner);
    const most = this.options.maxRunningRequests * BATCH_SHARE;
    if (this.waiting > 0 || !this.mayRun(parties) || parties[2].running >= most) return undefined;
    const place = this.placeFor(owner);
    place.take(() => undefined);
    return place;
  }

  private partiesOf({ group, client }: SlotOwner): Queued['parties'] {
    const shareOf = (share: number) => (this.hasShares ? share : 1);
    const party = this.all.member(group, shareOf(group === NETWORKS ? SHARE_OF_NETWORKS : SHARE));
    return [this.all, party, party.member(client, shareOf(SHARE))];
  }

  private take(queued: Queued): void {
    const [all, group, client] = queued.parties;
    if (client.waiting.size === 0 && this.mayRun(queued.parties)) return this.run(queued, false);
    for (const party of queued.parties) party.waiting.add(queued);
    all.turns.add(group);
    group.turns.add(client);
  }

  private leave(queued: Queued): void {
    if (queued.parties[2].waiting.has(queued)) this.stopWaiting(queued);
    else for (const party of queued.parties) party.running -= 1;
    const places = this.options.maxRunningRequests;
    for (let next = this.all.next(places); next; next = this.all.next(places)) {
      this.stopWaiting(next);
      this.run(next, true);
    }
  }

  private stopWaiting(queued: Queued): void {
    const [all, group, client] = queued.parties;
    for (const party of queued.parties) party.waiting.delete(queued);
    if (client.waiting.size === 0) group.turns.delete(client);
    if (group.waiting.size === 0) all.turns.delete(group);
  }

  private run({ parties, start }: Queued, waited: boolean): void {
    const now = performance.now();
    for (const party of parties) {
      party.pace.turn(now, waited);
      party.running += 1;
    }
    start();
  }

  private mayRun(parties: Queued['parties']): boolean {
    const [all, group, client] = parties;
    const ofAll = this.options.maxRunningRequests;
    const ofGroup = all.shareOf(group, ofAll);
    return all.running < ofAll && group.running < ofGroup && client.running < group.shareOf(client, ofGroup);
  }
}

/** Who shares places: everybody, a group, or a client, which has no members. */
class Party {
  running = 0;
  /** The requests that wait, the longest first. */
  readonly waiting = new Set<Queued>();
  /** Members with waiting requests. It is the first one's turn. */
  readonly turns = new Set<Party>();
  readonly pace = new Pace();
  private readonly members = new Map<string, Party>();
  private recent = new Set<string>();
  private earlier = new Set<string>();
  private rotated = 0;

  /** @param share of the places that its members share, what it may have while there are other members */
  constructor(private readonly share: number) {}

  /** Whether it has several members. */
  get hasCompany(): boolean {
    return this.turns.size > 1 || this.isContended;
  }

  find(name: string): Party | undefined {
    return this.members.get(name);
  }

  /** The member of this name, from now on one of those that share. */
  member(name: string, share: number): Party {
    this.rotate(performance.now());
    this.recent.add(name);
    const member = this.members.get(name) ?? new Party(share);
    this.members.set(name, member);
    return member;
  }

  /** What a member may have of so many places. */
  shareOf({ share }: Party, places: number): number {
    return this.isContended ? Math.max(1, Math.floor(places * share)) : places;
  }

  /** In how many turns a request has its own that is the given one of its member. */
  turnOf(own: number): number {
    return Math.min(this.waiting.size + 1, own * (this.turns.size + 1));
  }

  /** The request whose turn it is, of a member that has fewer than its share of so many places. */
  next(places: number): Queued | undefined {
    if (this.running >= places) return undefined;
    if (this.members.size === 0) return this.waiting.values().next().value;
    for (const member of this.turns) {
      const next = member.next(this.shareOf(member, places));
      if (!next) continue;
      // After its turn, a member goes to the end.
      this.turns.delete(member);
      this.turns.add(member);
      return next;
    }
    return undefined;
  }

  private get isContended(): boolean {
    return Math.max(this.recent.size, this.earlier.size) > 1;
  }

  /** Forgets who has had no request for long. */
  private rotate(now: number): void {
    if (now - this.rotated <= RECENT_MS) return;
    this.earlier = now - this.rotated > 2 * RECENT_MS ? new Set() : this.recent;
    this.recent = new Set();
    this.rotated = now;
    for (const [name, { running, waiting }] of this.members) {
      if (running + waiting.size === 0 && !this.earlier.has(name)) this.members.delete(name);
    }
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
