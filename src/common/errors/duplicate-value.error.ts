import { DomainError, type Violation } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A write that would repeat a unique value. */
export class DuplicateValueError extends DomainError {
  readonly code = 'DUPLICATE_VALUE';
  override readonly errors: readonly Violation[];

  /** @param fields the fields whose combination must be unique */
  constructor(fields: readonly string[], options?: ErrorOptions) {
    const detail = errorMessages.duplicateValue(fields);
    super(detail, options);
    this.errors = fields.map((field) => ({ pointer: `/${field}`, detail }));
  }
}
