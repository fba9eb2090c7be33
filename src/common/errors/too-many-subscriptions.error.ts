import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** A tenant already has as many subscriptions as allowed. */
export class TooManySubscriptionsError extends DomainError {
  readonly code = 'TOO_MANY_SUBSCRIPTIONS';

  /** @param max number of subscriptions allowed */
  constructor(max: number) {
    super(errorMessages.tooManySubscriptions(max));
  }
}
