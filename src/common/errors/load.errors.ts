import { DomainError } from './domain.error.js';
import { errorMessages } from './error-messages.js';

/** The process has as much work as it can do. */
export class OverloadedError extends DomainError {
  readonly code = 'OVERLOADED';
  override readonly headers = { 'Retry-After': '5' };

  constructor() {
    super(errorMessages.overloaded);
  }
}

/**
 * Which limit was reached: that of an address, of a tenant, of invalid tokens, one client's share of the process,
 * or what it stores with idempotency keys.
 */
export type RequestLimit = 'address' | 'tenant' | 'badTokens' | 'share' | 'keys';

/** A client sends more requests than allowed. */
export class TooManyRequestsError extends DomainError {
  readonly code = 'TOO_MANY_REQUESTS';
  override readonly headers: Readonly<Record<string, string>>;

  /** @param retryAfter when to try again. Unit: seconds. */
  constructor(
    readonly limit: RequestLimit,
    retryAfter: number,
  ) {
    super(errorMessages.tooManyRequests[limit]);
    this.headers = { 'Retry-After': String(Math.max(1, retryAfter)) };
  }
}

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

/** A tenant already has as many subscriptions as allowed. */
export class TooManySubscriptionsError extends DomainError {
  readonly code = 'TOO_MANY_SUBSCRIPTIONS';

  /** @param max number of subscriptions allowed */
  constructor(max: number) {
    super(errorMessages.tooManySubscriptions(max));
  }
}

/** A request could not be answered in time. */
export class DeadlineExceededError extends DomainError {
  readonly code = 'DEADLINE_EXCEEDED';
  override readonly headers = { 'Retry-After': '5' };

  constructor() {
    super(errorMessages.deadlineExceeded);
  }
}

/** A query takes the database longer than allowed. */
export class QueryTooSlowError extends DomainError {
  readonly code = 'QUERY_TOO_SLOW';
  override readonly headers = { 'Retry-After': '5' };

  constructor(options?: ErrorOptions) {
    super(errorMessages.queryTooSlow, options);
  }
}

/** The database cannot be reached, or did not answer in time. */
export class DatabaseUnavailableError extends DomainError {
  readonly code = 'DATABASE_UNAVAILABLE';
  override readonly headers = { 'Retry-After': '5' };

  constructor(options?: ErrorOptions) {
    super(errorMessages.databaseUnavailable, options);
  }
}

/** The database can be reached, but an operation took longer than its time limit. */
export class DatabaseTooSlowError extends DatabaseUnavailableError {}

/** The database cannot build an index of a resource, without which unique values could be stored twice. */
export class IndexUnavailableError extends DomainError {
  readonly code = 'INDEX_UNAVAILABLE';

  constructor() {
    super(errorMessages.indexUnavailable);
  }
}

/** The process is shutting down. Another process, or the next one, will answer. */
export class ShuttingDownError extends DomainError {
  readonly code = 'SHUTTING_DOWN';
  override readonly headers = { 'Retry-After': '1' };

  constructor() {
    super(errorMessages.shuttingDown);
  }
}
