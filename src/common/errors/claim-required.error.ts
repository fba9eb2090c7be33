import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A valid token that lacks a claim that isolates the action. */
export class ClaimRequiredError extends DomainError {
  readonly code = 'CLAIM_REQUIRED';

  /** @param claim name of the claim */
  constructor(claim: string) {
    super(errorMessages.claimRequired(claim));
  }
}
