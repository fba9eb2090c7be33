import type { FastifyRequest } from 'fastify';
import { clientOf } from '../../../src/common/http/fair-share.js';
import { KnownTenants } from '../../../src/common/server/load-control.js';
import { ACME } from '../../support/tenants.js';

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
