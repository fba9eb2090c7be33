import type { TestApp, TestResponse } from './test-app.js';

const REPEATED = ['content-type', 'location', 'etag', 'preference-applied', 'vary'];

/** All of an answer that a replay repeats. */
export const repeated = ({ status, text, headers }: TestResponse) => ({
  status,
  text,
  headers: REPEATED.map((name) => headers.get(name)),
});

export const isReplay = ({ headers }: TestResponse) => headers.get('idempotency-replayed') === 'true';

/** Asserts that an answer is the replay of another one, byte for byte. */
export function expectReplay(replay: TestResponse, first: TestResponse): void {
  expect([isReplay(first), isReplay(replay)]).toEqual([false, true]);
  expect(repeated(replay)).toEqual(repeated(first));
}

/** Leaves the keys of requests as a process does that dies before it can keep its answers. */
export async function forgetAnswers({ database }: TestApp): Promise<void> {
  const forgotten = { $unset: { answer: 1 as const }, $set: { leaseUntil: new Date() } };
  await database.collection('idempotency_keys').updateMany({}, forgotten);
}
