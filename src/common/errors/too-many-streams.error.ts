import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** What a client has as many of as it may: live streams, whole lists, imports. */
export type StreamKind = 'events' | 'lists' | 'imports';

const RETRY_AFTER_S: Readonly<Record<StreamKind, string>> = { events: '10', lists: '5', imports: '5' };

/** A client already has as many streams as allowed. */
export class TooManyStreamsError extends DomainError {
  readonly code = 'TOO_MANY_STREAMS';
  override readonly headers: Readonly<Record<string, string>>;

  /** @param max number of streams allowed */
  constructor(kind: StreamKind, max: number) {
    super(errorMessages.tooManyStreams[kind](max));
    this.headers = { 'Retry-After': RETRY_AFTER_S[kind] };
  }
}
