import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** The process has as much work as it can do. */
export class OverloadedError extends DomainError {
  readonly code = 'OVERLOADED';
  override readonly headers = { 'Retry-After': '5' };

  constructor() {
    super(errorMessages.overloaded);
  }
}
