import { performance } from 'node:perf_hooks';
import { mock } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { LargeWrites } from '../../../src/common/crud/store/word-keeper.js';

const LARGE = 100_000;

describe('writes of long texts', () => {
  let now = 0;
  let writes: LargeWrites;
  let done: string[];
  beforeEach(() => {
    now = 0;
    mock.timers.enable({ apis: ['setTimeout'] });
    mock.method(performance, 'now', () => now);
    writes = new LargeWrites();
    done = [];
  });
  afterEach(() => {
    mock.reset();
    mock.timers.reset();
  });

  /** Lets everything go on that waits for nothing but the given time. Unit: milliseconds. */
  async function pass(ms: number): Promise<void> {
    await nextTurn();
    now += ms;
    mock.timers.tick(ms);
    await nextTurn();
  }
  const write = (name: string, length: number, took = 0) =>
    writes.inTurn(length, () => {
      now += took;
      done.push(name);
      return Promise.resolve();
    });

  it('leave the database to others for twice as long as they took', async () => {
    const first = write('first', LARGE, 100);
    const second = write('second', LARGE);
    await pass(1);
    expect(done).toEqual(['first']);
    await write('short', 10);
    await pass(198);
    expect(done).toEqual(['first', 'short']);
    await pass(1);
    expect(done).toEqual(['first', 'short', 'second']);
    await Promise.all([first, second]);
  });

  it('follow each other at once if they are quick', async () => {
    const all = [write('first', LARGE, 5), write('second', LARGE, 5)];
    await pass(1);
    await pass(1);
    expect(done).toEqual(['first', 'second']);
    await Promise.all(all);
  });

  it('are rejected at once if others will keep them waiting for too long', async () => {
    const first = write('first', LARGE, 1_000);
    await pass(1);
    const waiting = [write('second', LARGE), write('third', LARGE)];
    await expect(write('fourth', LARGE)).rejects.toThrow();
    await pass(2_000);
    await pass(1);
    await Promise.all([first, ...waiting]);
    expect(done).toEqual(['first', 'second', 'third']);
  });

  it('are given up when they have waited for too long', async () => {
    const first = write('first', LARGE, 3_000);
    const second = write('second', LARGE);
    const given = expect(second).rejects.toThrow();
    await pass(1);
    await pass(6_000);
    await Promise.all([first, given]);
    expect(done).toEqual(['first']);
  });
});
