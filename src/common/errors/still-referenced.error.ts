import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

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
