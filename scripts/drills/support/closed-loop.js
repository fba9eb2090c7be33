import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from './connection.js';

/** Connections opened at a time. */
const OPENED_AT_A_TIME = 100;

/**
 * Has each of a number of clients send one request after the other, for so long. A client that is refused waits as long as it is
 * told, a little more or less.
 *
 * @param requestOf the bytes that a client sends, by its number
 * @returns times of the answers that were served and refused (unit: milliseconds), and how many requests had no answer
 */
export async function closedLoop(url, { clients, ms, requestOf, thinkMs = 0 }) {
  const result = { served: [], refused: [], others: {}, broken: 0, seconds: 0 };
  const connections = [];
  for (let i = 0; i < clients; i++) {
    connections.push(new Connection(url));
    if (i % OPENED_AT_A_TIME === OPENED_AT_A_TIME - 1) await pause(10);
  }
  const begun = performance.now();
  const end = begun + ms;
  await Promise.all(
    connections.map(async (connection, number) => {
      const bytes = requestOf(number);
      try {
        while (performance.now() < end) {
          const { status, retryAfter, ms: took } = await connection.send(bytes);
          if (status < 400) result.served.push(took);
          else if (status === 429 || status === 503) result.refused.push(took);
          else result.others[status] = (result.others[status] ?? 0) + 1;
          const wait = retryAfter > 0 ? retryAfter * 1_000 * (0.75 + Math.random() / 2) : thinkMs;
          if (wait > 0) await pause(Math.min(wait, Math.max(end - performance.now(), 0)));
        }
      } catch {
        result.broken += 1;
      }
    }),
  );
  result.seconds = (performance.now() - begun) / 1_000;
  for (const connection of connections) connection.close();
  return result;
}

/** The time that a share of them does not exceed. Unit: milliseconds. */
export function quantile(times, share) {
  const sorted = [...times].sort((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0;
}
