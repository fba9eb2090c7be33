import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Connection } from './connection.js';

/** Number of connections to open at a time. */
const OPENED_AT_A_TIME = 100;

/**
 * Makes each of a number of clients send one request after the other for a while. A rejected client waits as long as it is
 * told, a little more or less.
 *
 * @param requestOf returns the bytes of the next request of a client, by its number
 * @param from the address that they come from
 * @param thinkMs how long a client waits after an answer. Unit: milliseconds
 * @returns times of served and of rejected requests (unit: milliseconds), and how often each other result occurred
 */
export async function closedLoop(url, { clients, ms, requestOf, thinkMs = 0, from }) {
  const result = { served: [], refused: [], others: {}, seconds: 0 };
  const note = (other) => (result.others[other] = (result.others[other] ?? 0) + 1);
  const connections = [];
  for (let i = 0; i < clients; i++) {
    connections.push(new Connection(url, { from }));
    if (i % OPENED_AT_A_TIME === OPENED_AT_A_TIME - 1) await pause(10);
  }
  const begun = performance.now();
  const end = begun + ms;
  await Promise.all(
    connections.map(async (connection, number) => {
      try {
        while (performance.now() < end) {
          const { status, retryAfter, ms: took } = await connection.send(requestOf(number));
          if (status < 400) result.served.push(took);
          else if (status === 429 || status === 503) result.refused.push(took);
          else note(status);
          const wait = retryAfter > 0 ? retryAfter * 1_000 * (0.75 + Math.random() / 2) : thinkMs;
          if (wait > 0) await pause(Math.min(wait, Math.max(end - performance.now(), 0)));
        }
      } catch ({ message }) {
        note(message);
      }
    }),
  );
  result.seconds = (performance.now() - begun) / 1_000;
  for (const connection of connections) connection.close();
  return result;
}

/** The results of requests that were neither served nor rejected, such as `3 times closed`. */
export const oddOf = ({ others }) => Object.entries(others).map(([what, times]) => `${times} times ${what}`);

/** The value that a given share of them does not exceed; 0 for none. */
export function quantile(values, share) {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0;
}
