import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A body that is compressed or otherwise encoded (RFC 9110, section 8.4). */
export class UnsupportedContentCodingError extends DomainError {
  readonly code = 'UNSUPPORTED_MEDIA_TYPE';
  override readonly headers = { 'Accept-Encoding': 'identity' };

  constructor() {
    super(errorMessages.unsupportedContentCoding);
  }
}
