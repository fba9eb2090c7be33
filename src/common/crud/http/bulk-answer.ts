import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { StreamableFile } from '@nestjs/common';
import type { ItemResult } from '../batch/items.js';

/**
 * How long the answer waits for results. After that it begins, so that the client sees progress. Unit:
 * milliseconds.
 */
const PATIENCE_MS = 4_000;

/** The answer to a bulk request: its results or, if they take long, a stream of the same JSON. */
export async function bulkAnswer(results: Promise<readonly ItemResult[]>): Promise<unknown> {
  const ended = new AbortController();
  const late = pause(PATIENCE_MS, undefined, { signal: ended.signal }).catch(() => undefined);
  try {
    const inTime = await Promise.race([results, late]);
    if (inTime) return { results: inTime };
  } finally {
    ended.abort();
  }
  async function* json() {
    yield '{"results":';
    yield `${JSON.stringify(await results)}}`;
  }
  return new StreamableFile(Readable.from(json(), { objectMode: false }), {
    type: 'application/json; charset=utf-8',
  });
}
