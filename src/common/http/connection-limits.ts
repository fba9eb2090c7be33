import { readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { OverloadedError } from '../errors/index.js';
import { FairSlots, slotOwner } from './load/fair-slots.js';

/** How many connections there may be, and how long a client may take before its connection is closed. */
export interface ConnectionLimits {
  /**
   * Connections at a time; fewer if the system allows the process fewer descriptors.
   *
   * @default 20000
   */
  readonly maxConnections: number;
  /**
   * For the head of a request, from its first byte or the opening of the connection. Unit: milliseconds.
   *
   * @default 10000
   */
  readonly headersMs: number;
  /** For a whole request body; a stream of lines may take longer. Unit: milliseconds. @default 20000 */
  readonly bodyMs: number;
  /**
   * Without progress of a request or an answer: at most this, at least half of it. Unit: milliseconds.
   *
   * @default 60000
   */
  readonly stallMs: number;
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  maxConnections: 20_000,
  headersMs: 10_000,
  bodyMs: 20_000,
  stallMs: 60_000,
};

/** Descriptors that are left for the database, files, webhooks and keys. */
const RESERVE = 512;
/** The reserve takes no more of a small limit than this. */
const MAX_RESERVED = 3 / 4;

/**
 * Bounds the connections of a server. One more than that costs the network with most connections its newest one, so
 * that there is always room for others.
 */
export function boundConnections(server: Server, maxConnections: number): void {
  const descriptors = maxDescriptors();
  const room = descriptors - Math.min(RESERVE, Math.floor(descriptors * MAX_RESERVED));
  const limits = { maxInAll: Math.min(maxConnections, room), maxPerClient: Infinity };
  const slots = new FairSlots(limits, () => new OverloadedError());
  server.on('connection', (socket: Socket) => {
    const owner = slotOwner(socket.remoteAddress ?? '');
    const leave = slots.takeAnyway(owner, () => void socket.destroy());
    socket.once('close', leave);
  });
}

/** How many descriptors this process may have; any number where the system does not say. */
function maxDescriptors(): number {
  try {
    return Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity);
  } catch {
    return Infinity;
  }
}
