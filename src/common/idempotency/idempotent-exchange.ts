import { createHash } from 'node:crypto';
import { pipeline, Readable, Transform } from 'node:stream';
import { withDeadline } from '../database/index.js';
import { DatabaseUnavailableError, IdempotencyKeyInUseError, problemResponse } from '../errors/index.js';
import { contextOf, type HttpRequest, type HttpResponse, rawOf } from '../request/index.js';
import type { IdempotencyKeys, Replay } from './idempotency-keys.js';
import type { Reservation } from './reservation.js';

/** How often the lease of a long request is renewed: a few times before it expires. Unit: milliseconds. */
const RENEWAL_MS = 2_500;

/** Number of renewals after which the handler is considered stuck and its key is given up. */
const MAX_RENEWALS = 24;

/** When a response must be sent, counted from the arrival of the request. Unit: milliseconds. */
const RESPOND_WITHIN_MS = 4_600;

/** Minimum time for a command, even after a slow handler. Unit: milliseconds. */
const COMMAND_AT_LEAST_MS = 300;

/** Headers that a replay does not repeat, since they belong to a connection or to one client. */
const UNSTORED_HEADERS = new Set(['connection', 'content-length', 'date', 'set-cookie', 'transfer-encoding']);

/** Maximum size of a stored response; a document of the database holds 16 MiB. Unit: bytes. */
const MAX_STORED = 15 * 1_024 * 1_024;

declare module '../request/index.js' {
  interface RequestContext {
    /** Set by the IdempotencyInterceptor for a request with a key. */
    exchange?: IdempotentExchange;
  }
}

/** One request with a key, from its reservation to its response. */
export class IdempotentExchange {
  private readonly headersBefore: Readonly<Record<string, unknown>>;
  private heartbeat?: NodeJS.Timeout;
  private isForgotten = false;

  /**
   * @param unstored members of the response that a replay leaves out
   * @param permitted the part of a stored response that the sender may have
   */
  constructor(
    private readonly keys: IdempotencyKeys,
    private readonly outcome: Reservation | Replay,
    private readonly request: HttpRequest,
    private readonly reply: HttpResponse,
    private readonly unstored: readonly string[],
    private readonly permitted: (response: Replay) => Promise<Replay>,
  ) {
    this.headersBefore = { ...reply.getHeaders() };
    if (!('status' in outcome)) this.keepAlive(outcome);
  }

  /**
   * Stores the response before it is sent, so that a client never gets a response that a replay would not
   * repeat. A stream holds the key until it ends.
   *
   * @param payload the response's body, as it would be sent
   * @returns the body to send: that of another response if one is stored, or of a problem if this one cannot be stored, or
   * another request has taken the key over
   */
  async settle(payload: unknown): Promise<unknown> {
    const { outcome } = this;
    try {
      if ('status' in outcome) return await this.replay(outcome);
      if (payload instanceof Readable) return relay(payload, (body) => this.storeStream(outcome, body));
      const other = await this.store(outcome, payload);
      return other ? await this.replay(other) : payload;
    } catch (error) {
      const { status, headers, body } = problemResponse(error, this.request);
      return this.replace(status, Object.entries(headers), body);
    }
  }

  /** Does not store a response that contains a failure, since repeating the request may succeed. */
  forget(): void {
    this.isForgotten = true;
  }

  private async replay(stored: Replay): Promise<Buffer> {
    const { status, headers, body } = await this.permitted(stored);
    return this.replace(status, [...headers, ['Idempotency-Replayed', 'true']], body);
  }

  /** Replaces the response that was about to be sent. */
  private replace(status: number, headers: Replay['headers'], body: Buffer): Buffer {
    for (const [name] of this.headersSince()) this.reply.removeHeader(name);
    for (const [name, value] of headers) this.reply.header(name, value);
    this.reply.removeHeader('content-length');
    this.reply.status(status);
    return body;
  }

  /** Stores a response, or ends the lease. Returns the response that counts instead, if there is one. */
  private async store(reservation: Reservation, payload: unknown): Promise<Replay | undefined> {
    clearInterval(this.heartbeat);
    const response = this.responseOf(payload);
    if (!response) {
      await inTime(this.request, this.reply, this.keys.release(reservation)).catch(() => undefined);
      return undefined;
    }
    const storing = this.keys.store(reservation, response, this.request);
    return inTime(this.request, this.reply, storing).catch((error: unknown) => {
      void this.keys.release(reservation).catch(() => undefined);
      throw error;
    });
  }

  /** Stores the response that was streamed, unless it was too long. */
  private async storeStream(reservation: Reservation, body: Buffer | undefined): Promise<void> {
    if (!body) this.forget();
    const other = await this.store(reservation, body);
    // The client already has its beginning. It will ask again and get the response that counts.
    if (other) throw new IdempotencyKeyInUseError();
  }

  private keepAlive(reservation: Reservation): void {
    let renewals = 0;
    this.heartbeat = setInterval(() => {
      if (++renewals > MAX_RENEWALS) clearInterval(this.heartbeat);
      else void this.keys.renew(reservation).catch(() => undefined);
    }, RENEWAL_MS).unref();
  }

  /** The part of a response that is stored; undefined for a failure, since repeating the request may succeed. */
  private responseOf(payload: unknown): Replay | undefined {
    const { statusCode: status } = this.reply;
    if (status >= 500 || this.isForgotten) return undefined;
    if (payload !== undefined && payload !== null && typeof payload !== 'string' && !Buffer.isBuffer(payload))
      return undefined;
    const body = without(Buffer.from(payload ?? ''), this.unstored);
    const claims = claimsHashOf(this.request);
    return body.length > MAX_STORED ? undefined : { status, headers: this.headersSince(), body, claims };
  }

  /** The headers that the handler added to those of every response. */
  private headersSince(): [string, string][] {
    return Object.entries(this.reply.getHeaders())
      .filter(([name, value]) => !UNSTORED_HEADERS.has(name) && this.headersBefore[name] !== value)
      .map(([name, value]) => [name, String(value)]);
  }
}

/** Claims that every token has anew, whatever its bearer may do. */
const OF_ONE_TOKEN = new Set(['auth_time', 'exp', 'iat', 'jti', 'nbf']);

function claimsHashOf(request: HttpRequest): string {
  const claims = Object.entries(contextOf(request).caller?.claims ?? {}).filter(
    ([name]) => !OF_ONE_TOKEN.has(name),
  );
  claims.sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(claims)).digest('hex');
}

/** Whether a request has the same claims as the one that a response was stored for. */
export function isOfSameClaims({ claims }: Replay, request: HttpRequest): boolean {
  return claims === claimsHashOf(request);
}

/** Waits for a command only until the response is due. @throws DatabaseUnavailableError if it takes longer */
export function inTime<T>(request: HttpRequest, reply: HttpResponse, command: Promise<T>): Promise<T> {
  // A response that has begun is in time already.
  const elapsed = rawOf(reply).headersSent ? 0 : request.crudPlatform.elapsedMs(reply);
  const left = Math.max(COMMAND_AT_LEAST_MS, RESPOND_WITHIN_MS - elapsed);
  return withDeadline(command, left, () => new DatabaseUnavailableError());
}

/** A JSON object without some of its members; any other body as it is. */
function without(body: Buffer, members: readonly string[]): Buffer {
  if (members.length === 0 || body[0] !== '{'.charCodeAt(0)) return body;
  const entries = Object.entries(JSON.parse(body.toString()) as object);
  return Buffer.from(JSON.stringify(Object.fromEntries(entries.filter(([name]) => !members.includes(name)))));
}

/**
 * Passes a stream on, except for its last byte, which waits for `settle`: a reader who gets the whole stream can rely on
 * that. The stream is read to its end even if its reader goes away.
 *
 * @param settle receives the whole stream, or nothing if it failed or was too long to be stored
 */
function relay(stream: Readable, settle: (body: Buffer | undefined) => Promise<void>): Readable {
  const chunks: Buffer[] = [];
  let [length, isRead] = [0, true];
  let held: Buffer = Buffer.alloc(0);
  const collected = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      length += chunk.length;
      if (length <= MAX_STORED) chunks.push(chunk);
      else if (isRead) chunks.length = 0;
      else return done(new Error('Nobody reads the response, and it is too long to be stored.'));
      const bytes = Buffer.concat([held, chunk]);
      held = bytes.subarray(-1);
      done(null, bytes.subarray(0, -1));
    },
    flush(done) {
      const body = length > MAX_STORED ? undefined : Buffer.concat(chunks);
      settle(body).then(() => done(null, held), done);
    },
  });
  pipeline(stream, collected, (error) => {
    if (error) void settle(undefined);
  });
  async function* passOn(): AsyncGenerator<Buffer> {
    try {
      yield* collected.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    } finally {
      isRead = false;
      collected.resume();
    }
  }
  return Readable.from(passOn(), { objectMode: false });
}
