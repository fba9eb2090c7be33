import { SignJWT } from 'jose';
import { ConfigurationError, jwtSecretOf, readEnvironment } from './config/index.js';

/** Whom a token acts for, and how long. */
interface Holder {
  readonly tenant: string;
  /** The subject. @default none */
  readonly sub?: string;
  readonly hours: number;
}

/** Signs a development token. @throws ConfigurationError if the service takes none */
export async function tokenOf({ tenant, sub, hours }: Holder): Promise<string> {
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
