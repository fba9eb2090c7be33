import type { FastifyRequest } from 'fastify';

/** Who shares the bounds of a client: a tenant's requests or, without a token, those of an address. */
export function clientOf({ ip, tenantContext }: FastifyRequest): string {
  return tenantContext?.tenant ?? ip;
}
