import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CrudRootOptions } from '../common/crud/index.js';
import type { DatabaseServer } from '../common/database/index.js';
import { dataDirOf, type Environment, SECRET_BYTES } from './environment.js';

/** What all resources of the service share. */
export function rootOptionsOf(environment: Environment, database: DatabaseServer): CrudRootOptions {
  return {
    database,
    hookWarnMs: environment.hookWarnMs,
    tokens: {
      secret: jwtSecretOf(environment),
      jwksUrl: environment.jwtJwksUrl,
      issuer: environment.jwtIssuer,
      audience: environment.jwtAudience,
      scope: environment.jwtScope,
      tenantClaim: environment.jwtTenantClaim,
    },
  };
}

/**
 * The secret of HS256 tokens: `JWT_SECRET`, or in development one that is generated once and stored in
 * `DATA_DIR`, so that tokens stay valid after a restart.
 *
 * @throws ConfigurationError if the folder cannot be written
 */
export function jwtSecretOf(environment: Environment): string | undefined {
  if (environment.jwtSecret || environment.jwtJwksUrl) return environment.jwtSecret;
  const path = join(dataDirOf(environment), 'jwt-secret');
  try {
    // wx: if two processes start at once, one makes the secret and the other reads it.
    writeFileSync(path, randomBytes(SECRET_BYTES).toString('hex'), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  return readFileSync(path, 'utf8');
}
