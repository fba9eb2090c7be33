import { DomainError, type Violation } from './domain.error.js';
import { errorMessages } from './error-messages.js';
import { toPointer } from './feature.error.js';

/** No record matches: the id does not exist, belongs to another tenant, or is that of an archived record. */
export class RecordNotFoundError extends DomainError {
  readonly code = 'RECORD_NOT_FOUND';

  /** @param label name of the record for clients, such as "Post" */
  constructor(label: string) {
    super(errorMessages.recordNotFound(label));
  }
}

/** A write whose `If-Match` does not name the record's current revision (RFC 9110, section 15.5.13). */
export class PreconditionFailedError extends DomainError {
  readonly code = 'PRECONDITION_FAILED';

  constructor() {
    super(errorMessages.preconditionFailed);
  }
}

/** A write that depended on the record's latest state, which others changed each time in between. */
export class WriteConflictError extends DomainError {
  readonly code = 'WRITE_CONFLICT';

  constructor() {
    super(errorMessages.writeConflict);
  }
}

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

/** A delete of a record that other records refer to and must keep. */
export class StillReferencedError extends DomainError {
  readonly code = 'STILL_REFERENCED';

  /**
   * @param label name of one record, such as "category"
   * @param by name of the resource that refers to it
   */
  constructor(label: string, by: string) {
    super(errorMessages.stillReferenced(label, by));
  }
}

/** A request with an `Idempotency-Key` whose first request has not been answered yet. */
export class IdempotencyKeyInUseError extends DomainError {
  readonly code = 'IDEMPOTENCY_KEY_IN_USE';
  override readonly headers = { 'Retry-After': '1' };

  constructor() {
    super(errorMessages.idempotencyKeyInUse);
  }
}

/** A request with an `Idempotency-Key` that was already used with another body. */
export class IdempotencyKeyReusedError extends DomainError {
  readonly code = 'IDEMPOTENCY_KEY_REUSED';

  constructor() {
    super(errorMessages.idempotencyKeyReused);
  }
}
