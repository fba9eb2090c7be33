import { DomainError } from './domain.error.js';

/** A request that cannot be read at all: broken JSON, broken URL. */
export class MalformedRequestError extends DomainError {
  readonly code = 'MALFORMED_REQUEST';
}
