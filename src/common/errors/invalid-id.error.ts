import { DomainError, type Violation } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** An id in the path that is not an object identifier. */
export class InvalidIdError extends DomainError {
  readonly code = 'INVALID_ID';
  override readonly errors: readonly Violation[];

  /** @param parameter name of the path parameter */
  constructor(parameter: string) {
    super(errorMessages.invalidId);
    this.errors = [{ parameter, detail: errorMessages.invalidId }];
  }
}
