import { lookup, Resolver, TIMEOUT } from 'node:dns/promises';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Decides which webhook URLs are allowed. */
export interface TargetPolicy {
  /** Whether webhooks may be sent to private and loopback addresses. */
  readonly allowPrivate: boolean;
  /** Whether only https is allowed. */
  readonly httpsOnly: boolean;
}

/** A URL is not allowed as a target. The message is for the client. */
export class TargetError extends Error {}

/** Addresses in global ranges that are not global: Azure's metadata, and assignments of the IETF. */
const NOT_GLOBAL = ['168.63.129.16/32', '2001::/23'].map((range) => ipaddr.parseCIDR(range));

/** All global unicast addresses of IPv6 that have been assigned (RFC 4291, section 2.4). */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Where a webhook may be sent. */
export interface Target {
  readonly url: URL;
  /** The name or address in the URL, an address without brackets. */
  readonly host: string;
  readonly addresses: readonly string[];
}

/** Reads the text of a target, and looks up its addresses. @throws TargetError if it has none, or one that is not allowed */
export async function resolveTarget(
  text: string,
  { allowPrivate, httpsOnly }: TargetPolicy,
  resolve: ResolveName = resolveName,
): Promise<Target> {
  // The URL parser silently drops line breaks and white space.
  if (/[\s\p{Cc}]|%0[ad]/iu.test(text))
    throw new TargetError('The URL must have no white space and no line breaks.');
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const schemes = httpsOnly ? ['https'] : ['http', 'https'];
  if (!url || !schemes.includes(url.protocol.slice(0, -1)))
    throw new TargetError(`The URL must be an ${schemes.join(' or ')} URL.`);
  if (/^[^/\\]*[/\\]*[^/\\?#]*@/.test(text)) throw new TargetError('The URL must have no user information.');
  if (url.port === '0') throw new TargetError('The URL must not have the port 0.');
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
  const addresses = isIP(host) ? [host] : await resolve(host).catch(() => []);
  // One bad address is enough to reject the target, since any of them may be used. The same message for a name
  // without addresses, or it would tell which internal names exist.
  if (!allowPrivate && (addresses.length === 0 || !addresses.every(isGlobal)))
    throw new TargetError('The URL must lead to a public address.');
  if (addresses.length === 0) throw new TargetError('The name in the URL cannot be resolved.');
  return { url, host, addresses };
}

/** Whether an address is a global unicast address that does not represent an IPv4 address. */
export function isGlobal(text: string): boolean {
  if (!ipaddr.isValid(text)) return false;
  const address = ipaddr.parse(text);
  if (address.range() !== 'unicast') return false;
  if (address.kind() === 'ipv6' && !address.match(GLOBAL_IPV6)) return false;
  return !NOT_GLOBAL.some((range) => address.kind() === range[0].kind() && address.match(range));
}

/** Returns every address of a name; rejects if it has none. */
export type ResolveName = (name: string) => Promise<readonly string[]>;

/**
 * Queries the DNS directly: the operating system's lookup blocks one of the process's few threads for it, and
 * a name whose server never answers would delay all others. It is asked only for a name that the DNS does not
 * know, since it also knows its own names and those of its search domains.
 */
const resolveName: ResolveName = async (name) => {
  const resolver = new Resolver({ timeout: 1_000, tries: 2 });
  const lookups = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  const addresses = lookups.flatMap((lookup) => (lookup.status === 'fulfilled' ? lookup.value : []));
  if (addresses.length > 0) return addresses;
  for (const lookup of lookups)
    if (lookup.status === 'rejected' && (lookup.reason as { code?: unknown }).code === TIMEOUT)
      throw lookup.reason;
  return (await lookup(name, { all: true })).map(({ address }) => address);
};
