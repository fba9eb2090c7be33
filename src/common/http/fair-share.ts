import { performance } from 'node:perf_hooks';
import ipaddr from 'ipaddr.js';
import { OverloadedError, TooManyRequestsError } from '../errors/index.js';
import { contextOf, type HttpRequest } from '../request/index.js';

/** Who a share belongs to: a client of a group. A tenant is a group, and all networks without a token are one. */
export interface Owner {
  readonly group: string;
  readonly client: string;
}

declare module '../request/index.js' {
  interface RequestState {
    /** Who the request counts for while its caller is not verified; set where load is limited. */
    crudOwner?: Owner;
  }
}

/** The group of networks without a token: however many they are, they cannot keep a tenant out. */
const NETWORKS = 'networks';

/** The owner of what a request takes: its tenant or, without a token, its network. */
export function ownerOf(request: HttpRequest): Owner {
  const { ip, crudOwner: owner } = request;
  const tenant = contextOf(request).caller?.tenant;
  return tenant === undefined && owner ? owner : ownerAt(ip, tenant);
}

/** The owner of what a tenant takes or, without one, an address. */
export function ownerAt(address = '', tenant?: string): Owner {
  return tenant === undefined
    ? { group: NETWORKS, client: networkOf(address) }
    : { group: tenant, client: tenant };
}

export function isTenant({ group }: Owner): boolean {
  return group !== NETWORKS;
}

/** The client that limits apply to: the tenant of a request or, without a token, its network. */
export function clientOf(request: HttpRequest): string {
  return ownerAt(request.ip, contextOf(request).caller?.tenant).client;
}

/** Of an IPv6 address, the part that a network gives to one customer. Unit: bytes. */
const NETWORK_BYTES = 8;

/** The address itself or, of an IPv6 address, its network: its owner has 2^64 of them. */
function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  return ipaddr.fromByteArray(parsed.toByteArray().fill(0, NETWORK_BYTES)).toString();
}

/** How much there is to share: requests, connections, streams or pieces of memory. */
export interface ShareLimits {
  readonly maxInAll: number;
  /** A single larger piece is allowed. @default all */
  readonly maxPerClient?: number;
  /** Who would probably wait longer is rejected. Unit: milliseconds. @default Infinity */
  readonly maxWaitMs?: number;
  /** Whether a client may have only a share while there are others. @default false */
  readonly hasShares?: boolean;
}

/** A slot that is waited for. */
export interface QueuedSlot {
  /** Calls a function, at once or when it is its turn. A slot that was left can be taken again. */
  take(start: () => void): void;
  /** Changes how much it takes. */
  resize(size: number): void;
  /** Passes the slot on to the next one, even before its turn. A second call changes nothing. */
  leave(): void;
}

/** What one client may have of all slots, or of those of its group, while there are others. */
const SHARE = 1 / 8;
/** What all networks without a token may have together while there are tenants. */
const SHARE_OF_NETWORKS = 1 / 2;
/** What one client's batches may have of all slots, if there are no other clients. */
const BATCH_SHARE = 1 / 4;
/** Maximum number of those that wait, whatever the pace. */
const MAX_WAITING = 4_000;
/** Maximum number of those of one client that wait while others are served at once. */
const MAX_WAITING_OF_ONE = MAX_WAITING * SHARE;
/** How much longer than others a client may wait behind its own requests, since that delays nobody else. */
const OWN_PATIENCE = 6;

/** What waits or is carried out: of all, of a group and of a client. */
interface Piece {
  readonly parties: readonly [Party, Party, Party];
  start: () => void;
  size: number;
}

/**
 * Divides something fairly. A slot is either waited for (`slotFor`): groups take turns, and so do their clients. Or it is
 * there at once (`hold`): when there is none left, whoever has most gives the newest one up to somebody with fewer.
 */
export class FairShare {
  private readonly all = new Party(1);

  constructor(private readonly limits: ShareLimits) {}

  get running(): number {
    return this.all.used;
  }

  get waiting(): number {
    return this.all.waiting.size;
  }

  /** Why a request for a slot would be rejected now; undefined if it would be given in time. */
  rejection(owner: Owner): Error | undefined {
    const { maxInAll, maxWaitMs = Infinity } = this.limits;
    const [all, group, client] = this.partiesOf(owner);
    const hasRoom = all.used < maxInAll;
    if (hasRoom && group.waiting.size === 0) return undefined;
    const now = performance.now();
    const own = client.waiting.size + 1;
    const hasCompany = all.hasCompany || group.hasCompany;
    if ((hasCompany || hasRoom) && client.timeOf(own, now) > maxWaitMs * OWN_PATIENCE)
      return new TooManyRequestsError('share', 1);
    const inGroup = group.turnOf(own);
    // It waits only for its client's own requests, so the overall pace does not matter.
    if (hasRoom && inGroup === own && own <= MAX_WAITING_OF_ONE) return undefined;
    const time = hasRoom ? group.timeOf(inGroup, now) : all.timeOf(all.turnOf(inGroup), now);
    if (this.waiting < MAX_WAITING && time <= maxWaitMs) return undefined;
    return hasCompany && own > maxInAll * SHARE
      ? new TooManyRequestsError('share', 1)
      : new OverloadedError();
  }

  slotFor(owner: Owner, size = 1): QueuedSlot {
    let piece: Piece | undefined;
    return {
      take: (start) => {
        piece = { parties: this.partiesOf(owner), start, size };
        if (piece.parties[2].waiting.size === 0 && this.mayRun(piece)) run(piece, false);
        else wait(piece);
      },
      resize: (to) => {
        if (piece && !piece.parties[2].waiting.has(piece)) use(piece.parties, to - size);
        if (piece) piece.size = to;
        size = to;
        this.runNext();
      },
      leave: () => {
        if (!piece) return;
        if (piece.parties[2].waiting.has(piece)) stopWaiting(piece);
        else use(piece.parties, -piece.size);
        piece = undefined;
        this.runNext();
      },
    };
  }

  /** Whether a slot would be there at once. */
  isFree(owner: Owner, size = 1): boolean {
    const parties = this.partiesOf(owner);
    return parties[2].waiting.size === 0 && this.mayRun({ parties, size });
  }

  /** One more slot for what a client already does; undefined if that would keep others waiting, or its own requests. */
  slotBeside(owner: Owner): QueuedSlot | undefined {
    const most = this.limits.maxInAll * BATCH_SHARE;
    if (this.waiting > 0 || !this.isFree(owner) || this.partiesOf(owner)[2].used >= most) return undefined;
    const slot = this.slotFor(owner);
    slot.take(() => undefined);
    return slot;
  }

  /**
   * Takes a slot at once. @returns a function that releases it
   *
   * @param giveUp ends what the slot is for, once it goes to somebody else
   * @param tooMany the error of a client that has as many as it may. Without it, there is always a slot: if nobody has more
   * than the owner, the owner gives up one of its own.
   * @throws OverloadedError, or that of `tooMany`
   */
  hold(owner: Owner, giveUp: () => void, tooMany?: (max: number) => Error): () => void {
    const { maxInAll, maxPerClient = Infinity } = this.limits;
    const parties = this.partiesOf(owner);
    const { held, used } = parties[2];
    if (tooMany && used >= maxPerClient) throw tooMany(maxPerClient);
    if (this.running >= maxInAll) {
      const most = tooMany ? mostBeside(parties) : this.all.largest()?.largest();
      const newest = [...(most?.held ?? [])].at(-1);
      if (!newest && tooMany) throw new OverloadedError();
      newest?.release();
      newest?.giveUp();
    }
    const release = () => {
      if (held.delete(slot)) use(parties, -1);
    };
    const slot = { release, giveUp };
    held.add(slot);
    use(parties, 1);
    return release;
  }

  private partiesOf({ group, client }: Owner): Piece['parties'] {
    const shareOf = (share: number) => (this.limits.hasShares ? share : 1);
    const party = this.all.member(group, shareOf(isTenant({ group, client }) ? SHARE : SHARE_OF_NETWORKS));
    return [this.all, party, party.member(client, shareOf(SHARE))];
  }

  private runNext(): void {
    for (let next = this.next(); next; next = this.next()) {
      stopWaiting(next);
      run(next, true);
    }
  }

  /** The piece whose turn it is. If there is no room for it yet, no smaller one goes before it. */
  private next(): Piece | undefined {
    const { all, limits } = this;
    if (all.used >= limits.maxInAll) return undefined;
    for (const group of all.turns) {
      if (group.used >= all.shareOf(group, limits.maxInAll)) continue;
      for (const client of group.turns) {
        const [next] = client.waiting;
        if (!next || !this.isWithinShare(next)) continue;
        if (!all.hasRoom(next.size, limits.maxInAll)) return undefined;
        all.endTurn(group);
        group.endTurn(client);
        return next;
      }
    }
    return undefined;
  }

  private mayRun(piece: Pick<Piece, 'parties' | 'size'>): boolean {
    return this.all.hasRoom(piece.size, this.limits.maxInAll) && this.isWithinShare(piece);
  }

  private isWithinShare({ parties: [all, group, client], size }: Pick<Piece, 'parties' | 'size'>): boolean {
    const { maxInAll, maxPerClient = Infinity } = this.limits;
    const ofGroup = all.shareOf(group, maxInAll);
    const ofClient = Math.min(group.shareOf(client, ofGroup), maxPerClient);
    return group.hasRoom(size, ofGroup) && client.hasRoom(size, ofClient);
  }
}

function use(parties: Piece['parties'], size: number): void {
  for (const party of parties) party.used += size;
}

function run({ parties, start, size }: Piece, waited: boolean): void {
  const now = performance.now();
  for (const party of parties) party.beginTurn(now, waited);
  use(parties, size);
  start();
}

function wait(piece: Piece): void {
  const [all, group, client] = piece.parties;
  // A promise keeps what the request has in AsyncLocalStorage: whoever leaves a slot may be in a unit of work.
  const { start } = piece;
  void new Promise<void>((resolve) => (piece.start = resolve)).then(start);
  for (const party of piece.parties) party.waiting.add(piece);
  all.turns.add(group);
  group.turns.add(client);
}

function stopWaiting(piece: Piece): void {
  const [all, group, client] = piece.parties;
  for (const party of piece.parties) party.waiting.delete(piece);
  if (client.waiting.size === 0) group.turns.delete(client);
  if (group.waiting.size === 0) all.turns.delete(group);
}

/** Whoever has most; undefined if the owner would then have as many. */
function mostBeside([all, own, client]: Piece['parties']): Party | undefined {
  const group = all.largest();
  if (group && group.used > own.used + 1) return group.largest();
  const most = own.largest();
  return most && most.used > client.used + 1 ? most : undefined;
}

/** Weight of the latest interval between turns in their average. */
const WEIGHT = 0.1;

/** How long after its last request a client still counts, at least; at most twice as long. Unit: milliseconds. */
const RECENT_MS = 1_000;

/** Who shares: everybody, a group, or a client, which has no members. */
class Party {
  /** How much it has. */
  used = 0;
  /** What waits, the longest first. */
  readonly waiting = new Set<Piece>();
  /** What was taken at once, the newest last. */
  readonly held = new Set<{ release: () => void; giveUp: () => void }>();
  /** Members for which something waits. It is the first one's turn. */
  readonly turns = new Set<Party>();
  /** How quickly turns follow each other while others wait, and when the last one began. Unit: milliseconds. */
  private pace = 0;
  private last = performance.now();
  /** Those that have something, wait, or did so recently. */
  private readonly members = new Map<string, Party>();
  private seen = 0;
  private cleared = 0;

  /** @param share of what its members share, what it may have while there are other members */
  constructor(private readonly share: number) {}

  get hasCompany(): boolean {
    return this.members.size > 1;
  }

  hasRoom(size: number, max: number): boolean {
    return this.used === 0 || this.used + size <= max;
  }

  /** The member of this name, from now on one of those that share. */
  member(name: string, share: number): Party {
    const now = performance.now();
    if (now - this.cleared > RECENT_MS) this.clear(now);
    const member = this.members.get(name) ?? new Party(share);
    this.members.set(name, member);
    member.seen = now;
    return member;
  }

  /** The member that has most. */
  largest(): Party | undefined {
    let largest: Party | undefined;
    for (const member of this.members.values()) if (!largest || member.used > largest.used) largest = member;
    return largest;
  }

  /** What a member may have of so much. */
  shareOf({ share }: Party, max: number): number {
    return this.hasCompany ? Math.max(1, Math.floor(max * share)) : max;
  }

  /** In how many turns a piece has its own that is the given one of its member. */
  turnOf(own: number): number {
    return Math.min(this.waiting.size + 1, own * (this.turns.size + 1));
  }

  /** Records the begin of a turn. @param waited whether it had to be waited for */
  beginTurn(now: number, waited: boolean): void {
    if (waited) this.pace += WEIGHT * (now - this.last - this.pace);
    this.last = now;
  }

  /** How long the next turns will probably take; at least as long as the time since the last one. Unit: milliseconds. */
  timeOf(turns: number, now: number): number {
    return Math.max(turns * this.pace, now - this.last);
  }

  /** After its turn, a member goes to the end. */
  endTurn(member: Party): void {
    this.turns.delete(member);
    this.turns.add(member);
  }

  private clear(now: number): void {
    this.cleared = now;
    for (const [name, { used, waiting, seen }] of this.members)
      if (used + waiting.size === 0 && now - seen > RECENT_MS) this.members.delete(name);
  }
}
