import { AsyncLocalStorage } from 'node:async_hooks';
import { FairShare, type Owner } from '../../../src/common/http/fair-share.js';

const ofTenant = (name: string): Owner => ({ group: name, client: name });

describe('a share of something', () => {
  let share: FairShare;
  let events: string[];
  beforeEach(() => {
    share = new FairShare({ maxInAll: 8, maxPerClient: 4, maxWaitMs: 100 });
    events = [];
  });
  afterEach(() => jest.restoreAllMocks());

  /** Asks for a place that is left as soon as it is there. */
  const pass = (client: string, size: number) => {
    const place = share.placeFor(ofTenant(client), size);
    place.take(() => {
      events.push(client);
      setImmediate(() => place.leave());
    });
  };
  /** Those whose turn has come have begun. */
  const begun = () => new Promise(setImmediate);
  const take = (client: string, size: number) => {
    const place = share.placeFor(ofTenant(client), size);
    place.take(() => events.push(client));
    return place;
  };

  it('is given to clients in turn, whatever the size of their pieces', async () => {
    const held = [take('a', 4), take('b', 4)];
    for (let i = 0; i < 3; i++) pass('a', 4);
    for (let i = 0; i < 3; i++) pass('b', 2);
    pass('c', 3);
    expect(events.splice(0)).toEqual(['a', 'b']);
    held.forEach((place) => place.leave());
    while (share.running + share.waiting > 0) await begun();
    expect(events).toHaveLength(7);
    expect(events.indexOf('c')).toBeLessThan(3);
  });

  it('is passed on without what the one who leaves has in AsyncLocalStorage', async () => {
    const storage = new AsyncLocalStorage<string>();
    const seen: (string | undefined)[] = [];
    const held = take('a', 8);
    storage.run('own', () => share.placeFor(ofTenant('b')).take(() => seen.push(storage.getStore())));
    share.placeFor(ofTenant('c')).take(() => seen.push(storage.getStore()));
    storage.run("another one's", () => held.leave());
    await begun();
    expect(seen).toEqual(['own', undefined]);
  });

  it('is no more than the maximum, but for a single larger piece', async () => {
    const large = take('a', 20);
    take('b', 1);
    expect(events).toEqual(['a']);
    large.leave();
    await begun();
    expect(events).toEqual(['a', 'b']);
    expect(share.running).toBe(1);
  });

  it('goes to others as soon as a piece turns out to be smaller', async () => {
    const first = take('a', 8);
    take('b', 4);
    expect(events).toEqual(['a']);
    first.resize(2);
    await begun();
    expect(events).toEqual(['a', 'b']);
    expect(share.running).toBe(6);
    first.leave();
    first.leave();
    expect(share.running).toBe(4);
  });

  it('is free for a client that has none, while another one waits for its own', () => {
    take('a', 4);
    take('a', 4);
    expect(['a', 'b'].map((client) => share.isFree(ofTenant(client), 4))).toEqual([false, true]);
  });

  it('is refused to a client with a long queue, and not to one that comes later', () => {
    let now = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => now);
    const held = [take('a', 4), take('b', 4)];
    for (let i = 0; i < 200; i++) pass('a', 4);
    now += 50;
    held[0]?.leave();
    expect(share.refusal(ofTenant('a'))).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    expect(share.refusal(ofTenant('c'))).toBeUndefined();
  });
});
