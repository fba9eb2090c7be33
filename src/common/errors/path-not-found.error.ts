import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** No route has the requested path. */
export class PathNotFoundError extends DomainError {
  readonly code = 'PATH_NOT_FOUND';

  constructor() {
    super(errorMessages.pathNotFound);
  }
}
