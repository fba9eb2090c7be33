import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A token that verifies, but lacks a claim that the action is isolated by. */
export class ClaimRequiredError extends DomainError {
  readonly code = 'CLAIM_REQUIRED';

  /** @param claim name of the claim */
  constructor(claim: string) {
    super(errorMessages.claimRequired(claim));
  }
}
