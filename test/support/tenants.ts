import { createHmac } from 'node:crypto';

export const TEST_SECRET = 'a secret for tests, of more than 32 bytes';

/** Two tenants that must never meet. */
export const ACME = '665f1c2ab7e3a90d4c8b0001';
export const GLOBEX = '665f1c2ab7e3a90d4c8b0002';

/** Seconds since the epoch, as tokens count; `later` may be negative. */
export const inSeconds = (later: number) => Math.floor(Date.now() / 1000) + later;

const encode = (part: unknown) => Buffer.from(JSON.stringify(part)).toString('base64url');

/** The claims of a token that is good in every respect. */
export const goodClaims = () => ({ tenant: ACME, exp: inSeconds(3600) });

/** A token put together by hand, for what no library would sign; `hash` null leaves the signature empty. */
export function forgedToken(
  header: unknown,
  claims: unknown = goodClaims(),
  { hash = 'sha256' as string | null, secret = TEST_SECRET as string | Buffer } = {},
): string {
  const input = `${encode(header)}.${encode(claims)}`;
  return `${input}.${hash === null ? '' : createHmac(hash, secret).update(input).digest('base64url')}`;
}

/** A token as an issuer would make it; `claims` adds to or replaces its claims. */
export const tokenOf = (tenant: unknown, claims: Record<string, unknown> = {}) =>
  forgedToken({ alg: 'HS256' }, { ...goodClaims(), tenant, ...claims });

export const [acme, globex] = [tokenOf(ACME), tokenOf(GLOBEX)];
