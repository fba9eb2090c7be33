import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** No route has the requested path. */
export class PathNotFoundError extends DomainError {
  readonly code = 'PATH_NOT_FOUND';

  /** @param hasExplorer whether the service shows its paths at /docs */
  constructor(hasExplorer = true) {
    super(errorMessages.pathNotFound(hasExplorer));
  }
}
