import ipaddr from 'ipaddr.js';
import type { HttpRequest } from '../platform/index.js';

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
