import { jest } from '@jest/globals';
import { Types } from 'mongoose';
import { Lanes } from '../src/notifications/worker/lanes.js';

const HOUR_MS = 60 * 60 * 1_000;

describe('the places of a subscription that has failed', () => {
  beforeEach(() => void jest.useFakeTimers({ now: 0 }));
  afterEach(() => void jest.useRealTimers());

  const newLane = () => ({ subscription: new Types.ObjectId(), tenant: new Types.ObjectId() });

  it('are limited to one until an attempt succeeds, or for longer than any delivery waits', () => {
    const lanes = new Lanes({ perSubscription: 8, perTenant: 32, failing: 128, total: 256 });
    const [failing, recovered, other] = [newLane(), newLane(), newLane()];
    lanes.record(failing, true);
    lanes.record(recovered, true);
    expect([failing, recovered, other].map((lane) => lanes.roomOf(lane))).toEqual([1, 1, 8]);
    lanes.record(recovered, false);
    expect(lanes.roomOf(recovered)).toBe(8);

    // The longest delay is 24 hours and a tenth.
    jest.setSystemTime(26.5 * HOUR_MS);
    lanes.record(other, true);
    expect([failing, other].map((lane) => lanes.roomOf(lane))).toEqual([1, 1]);
    jest.setSystemTime(27 * HOUR_MS);
    lanes.record(recovered, false);
    expect([failing, other].map((lane) => lanes.roomOf(lane))).toEqual([8, 1]);
  });
});
