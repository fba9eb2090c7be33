import { SignJWT } from 'jose';

/** A token for development, which acts for a tenant. */
export function tokenOf(tenant = '665f1c2ab7e3a90d4c8b0001'): Promise<string> {
  const secret = new TextEncoder().encode(process.env.JWT_SECRET);
  return new SignJWT({ tenant, sub: 'ada' })
    .setProtectedHeader({ alg: 'HS256' })
    .setExpirationTime('8h')
    .sign(secret);
}
