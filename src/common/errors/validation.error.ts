import { DomainError, type Violation } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A body, query or path that does not have the declared shape. */
export class ValidationError extends DomainError {
  readonly code = 'VALIDATION_FAILED';
  override readonly errors: readonly Violation[];

  /** @param errors each fault; at least one */
  constructor(errors: readonly [Violation, ...Violation[]], options?: ErrorOptions) {
    super(errorMessages.validationFailed(errors.length, errors[0].detail), options);
    this.errors = errors;
  }
}
