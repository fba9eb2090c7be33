import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** No record matches: none has the id, or it is another tenant's, or it is archived. */
export class RecordNotFoundError extends DomainError {
  readonly code = 'RECORD_NOT_FOUND';

  /** @param label what a client calls the record, such as "Post" */
  constructor(label: string) {
    super(errorMessages.recordNotFound(label));
  }
}
