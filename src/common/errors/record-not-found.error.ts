import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** No record matches: the id does not exist, belongs to another tenant, or is that of an archived record. */
export class RecordNotFoundError extends DomainError {
  readonly code = 'RECORD_NOT_FOUND';

  /** @param label name of the record for clients, such as "Post" */
  constructor(label: string) {
    super(errorMessages.recordNotFound(label));
  }
}
