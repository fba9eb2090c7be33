import { SignJWT } from 'jose';

/** The secret that the tests' tokens are signed with. */
export const TEST_SECRET = 'a secret for tests, of more than 32 bytes';

/** Two tenants that must never meet. */
export const ACME = '665f1c2ab7e3a90d4c8b0001';
export const GLOBEX = '665f1c2ab7e3a90d4c8b0002';

/** A token as an issuer would make it; `claims` adds to or replaces its claims. */
export async function tokenOf(tenant: unknown, claims: Record<string, unknown> = {}): Promise<string> {
  return new SignJWT({ tenant, exp: Math.floor(Date.now() / 1000) + 3600, ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(new TextEncoder().encode(TEST_SECRET));
}

/** Tokens of the two tenants. */
export const [acme, globex] = [await tokenOf(ACME), await tokenOf(GLOBEX)];
