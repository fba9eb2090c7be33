import { SignJWT } from 'jose';
import { ConfigurationError, jwtSecretOf, readEnvironment } from './config/index.js';

/** Signs a development token for a tenant, or a person of it. @throws ConfigurationError if the service takes none */
export async function tokenOf(claims: { tenant: string; sub?: string; hours: number }): Promise<string> {
  const { tenant, sub, hours } = claims;
  const environment = readEnvironment(process.env);
  const secret = jwtSecretOf(environment);
  if (environment.nodeEnv === 'production' || !secret)
    throw new ConfigurationError(
      'JWT_SECRET',
      'only signs tokens in development: unset JWT_JWKS_URL and NODE_ENV=production',
    );
  const token = new SignJWT({ [environment.jwtTenantClaim]: tenant })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuedAt()
    .setExpirationTime(`${hours} hours`);
  if (sub !== undefined) token.setSubject(sub);
  if (environment.jwtIssuer) token.setIssuer(environment.jwtIssuer);
  if (environment.jwtAudience) token.setAudience(environment.jwtAudience);
  return token.sign(new TextEncoder().encode(secret));
}
