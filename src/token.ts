import './check-node.js';
import { parseArgs } from 'node:util';
import { SignJWT } from 'jose';
import { isObjectId } from './common/ids/index.js';
import { ConfigurationError, jwtSecretOf, readEnvironment } from './config/index.js';

const USAGE = `Usage: npm run token -- --tenant <24 hexadecimal digits> [--sub <text>] [--hours <number, default 8>]

Prints a token that acts for the tenant, for example: npm run --silent token -- --tenant 665f1c2ab7e3a90d4c8b0001
With --sub ada it acts for the person ada of the tenant. Run it with the DATA_DIR or JWT_SECRET of the service.
Send it as "Authorization: Bearer <token>". Only for development; docs/tokens.md is about production.`;

/** Prints a development token for a tenant. */
async function main(): Promise<void> {
  const { tenant, sub, hours, help } = readArguments();
  if (help) {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
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
  if (sub !== undefined) token.setSubject(sub);
  if (environment.jwtIssuer) token.setIssuer(environment.jwtIssuer);
  if (environment.jwtAudience) token.setAudience(environment.jwtAudience);
  process.stdout.write(`${await token.sign(new TextEncoder().encode(secret))}\n`);
}

function readArguments(): { tenant: string; sub?: string; hours: number; help: boolean } {
  const { values } = parseArgs({
    options: {
      tenant: { type: 'string' },
      sub: { type: 'string' },
      hours: { type: 'string', default: '8' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const hours = Number(values.hours);
  if (values.help) return { tenant: '', hours, help: true };
  if (!isObjectId(values.tenant) || !(hours > 0)) throw new Error(USAGE);
  return { tenant: values.tenant, sub: values.sub, hours, help: false };
}

main().catch((error: Error) => {
  const isWhole = error instanceof ConfigurationError || error.message === USAGE;
  process.stderr.write(isWhole ? `${error.message}\n` : `${error.message}; --help lists the options.\n`);
  process.exit(1);
});
