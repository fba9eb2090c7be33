import ipaddr from 'ipaddr.js';
import fastifyRateLimit from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { OverloadedError, TooManyRequestsError } from '../errors/index.js';
import type { HttpRequest } from '../platform/index.js';

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

/** Maximum number of requests per minute; 0 means no limit. */
export interface RateLimitOptions {
  readonly rateLimitTenant: number;
  readonly rateLimitAddress: number;
  /** Of one address, with invalid tokens. */
  readonly rateLimitBadTokens: number;
}

const WINDOW_MS = 60_000;

type Limiter = ReturnType<FastifyInstance['createRateLimit']>;

/** Counts requests per minute, in the memory of this process. */
export class RateLimits {
  private readonly perAddress?: Limiter;
  private readonly perTenant?: Limiter;
  private readonly badTokens?: Limiter;

  private constructor(fastify: FastifyInstance, options: RateLimitOptions, tenantOf: TenantOf) {
    const limit = (max: number, keyGenerator?: (request: FastifyRequest) => string) =>
      max === 0 ? undefined : fastify.createRateLimit({ max, ...(keyGenerator && { keyGenerator }) });
    this.perAddress = limit(options.rateLimitAddress);
    this.perTenant = limit(options.rateLimitTenant, (request) => tenantOf(request) ?? '');
    this.badTokens = limit(options.rateLimitBadTokens);
  }

  /** @param tenantOf returns the tenant that a request is counted for, if it is known */
  static async create(
    fastify: FastifyInstance,
    options: RateLimitOptions,
    tenantOf: TenantOf,
  ): Promise<RateLimits> {
    await fastify.register(fastifyRateLimit, { global: false, timeWindow: WINDOW_MS });
    return new RateLimits(fastify, options, tenantOf);
  }

  /**
   * Counts a request.
   *
   * @param tenant to count the request for, if known
   * @throws TooManyRequestsError
   */
  async count(request: FastifyRequest, tenant: string | undefined): Promise<void> {
    if (this.badTokens && tenant === undefined && request.headers.authorization !== undefined) {
      const { remaining, ttlInSeconds } = await read(this.badTokens, request);
      if (remaining === 0) throw new TooManyRequestsError('badTokens', ttlInSeconds);
    }
    if (this.perAddress) await take(this.perAddress, request, 'address');
    if (this.perTenant && tenant !== undefined) await take(this.perTenant, request, 'tenant');
  }

  /** Counts an invalid token. */
  async countBadToken(request: FastifyRequest): Promise<void> {
    await this.badTokens?.(request);
  }
}

type TenantOf = (request: FastifyRequest) => string | undefined;

async function take(limiter: Limiter, request: FastifyRequest, of: 'address' | 'tenant'): Promise<void> {
  const result = await limiter(request);
  if (!result.isAllowed && result.isExceeded) throw new TooManyRequestsError(of, result.ttlInSeconds);
}

async function read(limiter: Limiter, request: FastifyRequest) {
  const result = await limiter(request, { increment: false });
  return result.isAllowed ? { remaining: 1, ttlInSeconds: 0 } : result;
}

/** Maximum number of tokens to remember; beyond that, the least recently used one is forgotten. */
const MAX_TOKENS = 10_000;
/** Of their headers in all, which one token can have in any number: spaces before it count for nothing. Unit: characters. */
const MAX_LENGTH = 16_777_216;

/** What is known of a token. */
interface Known {
  readonly tenant: string;
  /** Unit: milliseconds since the epoch. */
  readonly expires: number;
}

/**
 * The tenants of recently verified tokens, so that a request can be counted for its tenant before its token
 * is verified again, as long as the token lasts. It does not grant access.
 */
export class KnownTenants {
  private readonly tokens = new Map<string, Known>();
  private length = 0;

  /** The tenant of a request's token; undefined without a token, or if it was not verified recently. */
  of({ headers: { authorization } }: FastifyRequest): string | undefined {
    if (authorization === undefined) return undefined;
    const known = this.tokens.get(authorization);
    if (!known) return undefined;
    if (known.expires <= Date.now()) {
      this.forget(authorization);
      return undefined;
    }
    this.tokens.delete(authorization);
    this.tokens.set(authorization, known);
    return known.tenant;
  }

  /** Remembers the caller that the guard has found; forgets a token that the guard has rejected. */
  learn({ headers: { authorization }, tenantContext }: FastifyRequest, status: number): void {
    if (authorization === undefined) return;
    if (status === 401) {
      this.forget(authorization);
      return;
    }
    const { tenant, claims } = tenantContext ?? {};
    if (tenant === undefined) return;
    // A verified token has `exp`; a caller that was identified in another way is not remembered.
    this.remember(authorization, { tenant, expires: Number(claims?.exp) * 1_000 });
  }

  private remember(authorization: string, known: Known): void {
    this.forget(authorization);
    if (!(known.expires > Date.now())) return;
    this.tokens.set(authorization, known);
    this.length += authorization.length;
    for (const oldest of this.tokens.keys()) {
      if (this.tokens.size <= MAX_TOKENS && this.length <= MAX_LENGTH) return;
      this.forget(oldest);
    }
  }

  private forget(authorization: string): void {
    if (this.tokens.delete(authorization)) this.length -= authorization.length;
  }
}
