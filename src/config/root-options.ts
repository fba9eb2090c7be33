import type { CrudRootOptions } from '../common/crud/index.js';
import type { DatabaseServer } from '../common/database/index.js';
import { jwtSecretOf } from './development-secret.js';
import type { Environment } from './environment.js';

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
      names: { jwksUrl: 'JWT_JWKS_URL', audience: 'JWT_AUDIENCE' },
    },
  };
}
