import type { FastifyRequest } from 'fastify';
import { KnownTenants } from '../../../src/common/http/client-limits.js';
import { ACME } from '../../support/tenants.js';

const requestWith = (authorization: string) =>
  ({
    headers: { authorization },
    tenantContext: { tenant: ACME, claims: { exp: Date.now() / 1_000 + 60 } },
  }) as unknown as FastifyRequest;

/** One token, with as many spaces before it as a head has room for. */
const padded = (spaces: number) => `Bearer ${' '.repeat(spaces)}token`;

describe('the tokens whose tenants are known', () => {
  let tenants: KnownTenants;
  const isKnown = (authorization: string) => tenants.of(requestWith(authorization)) === ACME;
  const learn = (authorization: string, status = 200) => tenants.learn(requestWith(authorization), status);
  beforeEach(() => {
    tenants = new KnownTenants();
  });

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

  it('are bounded in length, however often one is learnt', () => {
    for (let i = 0; i < 3_000; i++) learn(padded(14_000));
    learn('Bearer a');
    expect(isKnown(padded(14_000))).toBe(true);
    for (let i = 0; i < 2_000; i++) learn(padded(12_000 + i));
    expect(['Bearer a', padded(12_000), padded(13_999)].map(isKnown)).toEqual([false, false, true]);
  });
});
