import type { FastifyRequest } from 'fastify';
import { clientOf } from '../../src/common/http/client-limits.js';
import { ACME } from '../support/tenants.js';

const clientAt = (ip: string, tenant?: string) =>
  clientOf({ ip, tenantContext: tenant && { tenant } } as unknown as FastifyRequest);

describe('the client of a request', () => {
  it('is its tenant, wherever it comes from', () => {
    expect(clientAt('192.0.2.1', ACME)).toBe(clientAt('2001:db8::1', ACME));
  });

  it.each([
    ['192.0.2.1', '::ffff:192.0.2.1'],
    ['2001:db8::1', '2001:db8::2'],
    ['2001:db8::', '2001:0db8:0:0:ffff:ffff:ffff:ffff'],
  ])('is the same at %s and %s', (one, other) => {
    expect(clientAt(one)).toBe(clientAt(other));
  });

  it.each([
    ['192.0.2.1', '192.0.2.2'],
    ['::ffff:192.0.2.1', '::ffff:192.0.2.2'],
    ['2001:db8::1', '2001:db8:0:1::1'],
    ['::1', '127.0.0.1'],
  ])('is another one at %s than at %s', (one, other) => {
    expect(clientAt(one)).not.toBe(clientAt(other));
  });
});
