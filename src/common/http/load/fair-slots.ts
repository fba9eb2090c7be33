import ipaddr from 'ipaddr.js';
import { OverloadedError } from '../../errors/index.js';
import type { HttpRequest } from '../../platform/index.js';

/** Maximum numbers of slots. */
export interface SlotLimits {
  readonly maxInAll: number;
  readonly maxPerClient: number;
}

/** Whom a slot counts for. */
export interface SlotOwner {
  /** Clients of one group share as one client does: a tenant is a group, and all networks without a token are one. */
  readonly group: string;
  readonly client: string;
}

/** Networks without a token: however many they are, they cannot keep a tenant out. */
export const NETWORKS = 'networks';

/** The owner of what a request takes. */
export function slotOwnerOf({ ip, tenantContext }: HttpRequest): SlotOwner {
  return slotOwner(ip ?? '', tenantContext?.tenant);
}

/** The owner of what a tenant takes or, without one, an address. */
export function slotOwner(address: string, tenant?: string): SlotOwner {
  return tenant === undefined
    ? { group: NETWORKS, client: networkOf(address) }
    : { group: tenant, client: tenant };
}

interface Slot {
  readonly release: () => void;
  readonly giveUp: () => void;
}

/** The slots of one group, by client, in the order in which they were taken. */
class Group {
  size = 0;
  readonly clients = new Map<string, Set<Slot>>();
}

/**
 * Slots that are held for long, such as connections and streams. When all are taken, whoever has most gives the
 * newest one up to somebody with fewer.
 */
export class FairSlots {
  private readonly groups = new Map<string, Group>();
  private taken = 0;

  /** @param tooMany makes the error for a client that has as many slots as it may */
  constructor(
    private readonly limits: SlotLimits,
    private readonly tooMany: (max: number) => Error,
  ) {}

  /**
   * Takes a slot.
   *
   * @param giveUp ends what the slot is for; called if somebody else gets the slot, which is then released
   * @returns a function that releases the slot; only its first call has an effect
   * @throws OverloadedError, or that of `tooMany`, if there is none
   */
  take(owner: SlotOwner, giveUp: () => void): () => void {
    const { maxInAll, maxPerClient } = this.limits;
    if (this.slotsOf(owner).size >= maxPerClient) throw this.tooMany(maxPerClient);
    if (this.taken >= maxInAll && !this.takeBack(this.mostBeside(owner))) throw new OverloadedError();
    return this.add(owner, giveUp);
  }

  /** Takes a slot in any case: if nobody has more than the owner, the owner gives up one of its own. */
  takeAnyway(owner: SlotOwner, giveUp: () => void): () => void {
    if (this.taken >= this.limits.maxInAll) {
      this.takeBack(largestOf(largestOf(this.groups.values())?.clients.values() ?? []));
    }
    return this.add(owner, giveUp);
  }

  private slotsOf({ group, client }: SlotOwner): ReadonlySet<Slot> {
    return this.groups.get(group)?.clients.get(client) ?? new Set();
  }

  /** The slots of whoever has most; undefined if the owner would then have as many. */
  private mostBeside(owner: SlotOwner): ReadonlySet<Slot> | undefined {
    const own = this.groups.get(owner.group);
    const group = largestOf(this.groups.values());
    const isOwn = !group || group.size <= (own?.size ?? 0) + 1;
    const slots = largestOf((isOwn ? own : group)?.clients.values() ?? []);
    return isOwn && (slots?.size ?? 0) <= this.slotsOf(owner).size + 1 ? undefined : slots;
  }

  /** Takes the newest one of some slots back; returns whether there is one. */
  private takeBack(slots: ReadonlySet<Slot> = new Set()): boolean {
    const newest = [...slots].at(-1);
    newest?.release();
    newest?.giveUp();
    return newest !== undefined;
  }

  private add({ group: name, client }: SlotOwner, giveUp: () => void): () => void {
    const group = this.groups.get(name) ?? new Group();
    const slots = group.clients.get(client) ?? new Set();
    const release = () => {
      if (!slots.delete(slot)) return;
      this.taken -= 1;
      group.size -= 1;
      if (slots.size === 0) group.clients.delete(client);
      if (group.size === 0) this.groups.delete(name);
    };
    const slot = { release, giveUp };
    this.groups.set(name, group);
    group.clients.set(client, slots.add(slot));
    group.size += 1;
    this.taken += 1;
    return release;
  }
}

function largestOf<T extends { readonly size: number }>(items: Iterable<T>): T | undefined {
  let largest: T | undefined;
  for (const item of items) if (!largest || item.size > largest.size) largest = item;
  return largest;
}

/** Of an IPv6 address, the part that a network gives to one customer. Unit: bytes. */
const NETWORK_BYTES = 8;

/** The client that limits apply to: the tenant of a request or, without a token, its address. */
export function clientOf({ ip, tenantContext }: HttpRequest): string {
  return tenantContext?.tenant ?? networkOf(ip ?? '');
}

/** The address itself or, of an IPv6 address, its network: its owner has 2^64 of them. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === 'ipv4') return parsed.toString();
  const bytes = parsed.toByteArray();
  return ipaddr.fromByteArray(bytes.fill(0, NETWORK_BYTES)).toString();
}
