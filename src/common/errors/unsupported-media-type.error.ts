import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A body in a content type that the path does not accept. */
export class UnsupportedMediaTypeError extends DomainError {
  readonly code = 'UNSUPPORTED_MEDIA_TYPE';
  override readonly headers: Readonly<Record<string, string>>;

  /** @param allowed the content types that the path accepts */
  constructor(allowed: readonly string[]) {
    super(errorMessages.unsupportedMediaType(allowed));
    this.headers = { Accept: allowed.join(', ') };
  }
}
