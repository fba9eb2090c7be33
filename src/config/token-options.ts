import type { TokenVerifierOptions } from '../common/tenancy/index.js';
import { jwtSecretOf } from './development-secret.js';
import type { Environment } from './environment.js';

/** How tokens are verified, by the variables `JWT_*`. */
export function tokenOptionsOf(environment: Environment): TokenVerifierOptions {
  return {
    secret: jwtSecretOf(environment),
    jwksUrl: environment.jwtJwksUrl,
    issuer: environment.jwtIssuer,
    audience: environment.jwtAudience,
    scope: environment.jwtScope,
    tenantClaim: environment.jwtTenantClaim,
    names: { jwksUrl: 'JWT_JWKS_URL', audience: 'JWT_AUDIENCE' },
  };
}
