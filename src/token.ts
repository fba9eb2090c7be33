import { parseArgs } from 'node:util';
import { SignJWT } from 'jose';
import { isObjectId } from './common/ids/index.js';
import { ConfigurationError, jwtSecretOf, readEnvironment } from './config/index.js';

const USAGE = 'Usage: npm run token -- --tenant <24 hexadecimal digits> [--hours <number, default 8>]';

/** Prints a development token for a tenant. */
async function main(): Promise<void> {
  const { tenant, hours } = readArguments();
  const environment = readEnvironment(process.env);
  const secret = jwtSecretOf(environment);
  if (environment.nodeEnv === 'production' || !secret) {
    throw new ConfigurationError(
      'JWT_SECRET',
      'only signs tokens in development: unset JWT_JWKS_URL and NODE_ENV=production',
    );
  }
  const token = new SignJWT({ [environment.jwtTenantClaim]: tenant })
    .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
    .setIssuedAt()
    .setExpirationTime(`${hours} hours`);
  if (environment.jwtIssuer) token.setIssuer(environment.jwtIssuer);
  if (environment.jwtAudience) token.setAudience(environment.jwtAudience);
  process.stdout.write(`${await token.sign(new TextEncoder().encode(secret))}\n`);
}

function readArguments(): { tenant: string; hours: number } {
  const { values } = parseArgs({
    options: { tenant: { type: 'string' }, hours: { type: 'string', default: '8' } },
  });
  const hours = Number(values.hours);
  if (!isObjectId(values.tenant) || !(hours > 0)) throw new Error(USAGE);
  return { tenant: values.tenant, hours };
}

main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n${error instanceof ConfigurationError ? '' : `${USAGE}\n`}`);
  process.exit(1);
});
