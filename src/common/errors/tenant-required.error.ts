import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** The credentials are valid but name no tenant. */
export class TenantRequiredError extends DomainError {
  readonly code = 'TENANT_REQUIRED';

  /** @param claim name of the token claim that should contain the tenant */
  constructor(claim: string) {
    super(errorMessages.tenantRequired(claim));
  }
}
