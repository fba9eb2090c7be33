import { DomainError, type Violation } from './domain.error.js';
import { errorMessages } from './error-messages.js';
import { toPointer } from './json-pointer.js';

/** A write that would repeat a unique value. */
export class DuplicateValueError extends DomainError {
  readonly code = 'DUPLICATE_VALUE';
  override readonly errors: readonly Violation[] | undefined;

  /** @param fields the fields whose combination must be unique */
  constructor(
    private readonly fields: readonly string[],
    options?: ErrorOptions,
  ) {
    const detail = errorMessages.duplicateValue(fields);
    super(detail, options);
    const named = fields.map((field) => ({ pointer: toPointer(field.split('.')), detail }));
    this.errors = named.length > 0 ? named : undefined;
  }

  /** The same error, naming only fields that a client may send. */
  among(inputFields: readonly string[]): DuplicateValueError {
    const named = this.fields.filter((field) => inputFields.includes(field.split('.', 1)[0] ?? field));
    return new DuplicateValueError(named, { cause: this.cause });
  }
}
