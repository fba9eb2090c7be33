import { retryDelayMs } from '../../../src/common/notifications/deliveries/delivery.entity.js';

const SECONDS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];

it.each(SECONDS.map((seconds, i) => [i + 1, seconds]))(
  'after %d failures the next attempt waits for %d s, and up to a tenth longer',
  (failed, seconds) => {
    expect(retryDelayMs(failed, 0)).toBe(seconds * 1_000);
    expect(retryDelayMs(failed, 1)).toBeCloseTo(seconds * 1_100);
    expect(retryDelayMs(failed)).not.toBe(retryDelayMs(failed));
  },
);

it.each([10, 15])('after %d failures there is no next attempt', (failed) => {
  expect(retryDelayMs(failed)).toBeUndefined();
});
