import { AsyncLocalStorage } from 'node:async_hooks';
import type { FastifyRequest } from 'fastify';
import { clientOf, FairShare, type Owner } from '../../../src/common/http/fair-share.js';
import { KnownTenants } from '../../../src/common/server/load-control.js';
import { ACME } from '../../support/tenants.js';

const ofTenant = (name: string): Owner => ({ group: name, client: name });

describe('a share of something', () => {
  let share: FairShare;
  let events: string[];
  beforeEach(() => {
    share = new FairShare({ maxInAll: 8, maxPerClient: 4, maxWaitMs: 100 });
    events = [];
  });
  afterEach(() => jest.restoreAllMocks());

  const take = (client: string, size: number, onTurn?: () => void) => {
    const place = share.slotFor(ofTenant(client), size);
    place.take(() => {
      events.push(client);
      onTurn?.();
    });
    return place;
  };
  /** Asks for a place that is left as soon as it is there. */
  const pass = (client: string, size: number) => {
    const place = take(client, size, () => setImmediate(() => place.leave()));
  };
  /** Those whose turn has come have begun. */
  const begun = () => new Promise(setImmediate);

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
    storage.run('own', () => share.slotFor(ofTenant('b')).take(() => seen.push(storage.getStore())));
    share.slotFor(ofTenant('c')).take(() => seen.push(storage.getStore()));
    storage.run("another one's", () => held.leave());
    await begun();
    expect(seen).toEqual(['own', undefined]);
  });

  it('is no more than the maximum, but for a single larger piece, until it turns out to be smaller', async () => {
    const large = take('a', 20);
    take('b', 4);
    expect(events).toEqual(['a']);
    large.resize(2);
    await begun();
    expect([events, share.running]).toEqual([['a', 'b'], 6]);
    large.leave();
    large.leave();
    expect(share.running).toBe(4);
  });

  it('is free for a client that has none, while another one waits for its own', () => {
    take('a', 4);
    take('a', 4);
    expect(['a', 'b'].map((client) => share.isFree(ofTenant(client), 4))).toEqual([false, true]);
  });

  it('is refused to a client with a long queue, not to one that comes later, or for a moment without a turn', () => {
    const now = jest.spyOn(performance, 'now').mockReturnValue(1_000);
    const held = [take('a', 4), take('b', 4)];
    for (let i = 0; i < 40; i++) pass('a', 1);
    now.mockReturnValue(1_025);
    expect(share.rejection(ofTenant('a'))).toBeUndefined();
    for (let i = 0; i < 200; i++) pass('a', 4);
    now.mockReturnValue(1_050);
    held[0]?.leave();
    expect(share.rejection(ofTenant('a'))).toMatchObject({ code: 'TOO_MANY_REQUESTS' });
    expect(share.rejection(ofTenant('c'))).toBeUndefined();
  });
});

describe('the client of a request', () => {
  const clientAt = (ip: string, tenant?: string) =>
    clientOf({ ip, crudContext: { caller: tenant && { tenant } } } as unknown as FastifyRequest);

  it('is its tenant, wherever it comes from', () => {
    expect(clientAt('192.0.2.1', ACME)).toBe(clientAt('2001:db8::1', ACME));
  });

  it.each([
    ['192.0.2.1', '::ffff:192.0.2.1', true],
    ['2001:db8::1', '2001:db8::2', true],
    ['2001:db8::', '2001:0db8:0:0:ffff:ffff:ffff:ffff', true],
    ['192.0.2.1', '192.0.2.2', false],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2', false],
    ['2001:db8::1', '2001:db8:0:1::1', false],
    ['::1', '127.0.0.1', false],
  ])('is, at %s and %s, the same: %s', (one, other, same) => {
    expect(clientAt(one) === clientAt(other)).toBe(same);
  });
});

describe('the tokens whose tenants are known', () => {
  const requestWith = (authorization: string) =>
    ({
      headers: { authorization },
      crudContext: { caller: { tenant: ACME, claims: { exp: Date.now() / 1_000 + 60 } } },
    }) as unknown as FastifyRequest;

  let tenants: KnownTenants;
  const isKnown = (authorization: string) => tenants.of(requestWith(authorization)) === ACME;
  const learn = (authorization: string, status = 200) => tenants.learn(requestWith(authorization), status);
  beforeEach(() => void (tenants = new KnownTenants()));

  it('are those that were verified, until one is refused', () => {
    learn('Bearer a');
    learn('Bearer b');
    learn('Bearer a', 401);
    expect(['Bearer a', 'Bearer b', 'Bearer c'].map(isKnown)).toEqual([false, true, false]);
  });

  it('are bounded in number, the ones used last staying', () => {
    for (let i = 0; i <= 10_000; i++) {
      learn(`Bearer ${i}`);
      isKnown('Bearer 0');
    }
    expect(['Bearer 0', 'Bearer 1', 'Bearer 2'].map(isKnown)).toEqual([true, false, true]);
  });
});
