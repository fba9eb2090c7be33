import { createHash } from 'node:crypto';
import {
  type CallHandler,
  type ExecutionContext,
  Global,
  Injectable,
  Module,
  type NestInterceptor,
  SetMetadata,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { MongooseModule } from '@nestjs/mongoose';
import { type Observable, of } from 'rxjs';
import { CRUD_CONNECTION } from '../database/index.js';
import { errorMessages, pathOf, ValidationError } from '../errors/index.js';
import { bodyFormatOf } from '../http/index.js';
import { contextOf, type HttpRequest, type HttpResponse } from '../request/index.js';
import { identityOf, TokenVerifier } from '../tenancy/index.js';
import { IDEMPOTENCY_KEYS, IdempotencyKeys, type Replay } from './idempotency-keys.js';
import { IdempotentExchange, inTime } from './idempotent-exchange.js';
import { Reservation } from './reservation.js';
import { IDEMPOTENCY_BYTES, StoredBytes } from './stored-bytes.js';

const HEADER = 'Idempotency-Key';
const KEY = /^[\x21-\x7e]{1,255}$/;
const UNSTORED = 'idempotency:unstored';

declare module '../request/index.js' {
  interface RequestContext {
    /** Of a request with an `Idempotency-Key`, under which it creates its records. */
    reservation?: Reservation;
  }
}

/** Declares members of a handler's response that are shown once: neither a replay nor the database has them. */
export const Unstored = (...members: string[]) => SetMetadata(UNSTORED, members);

/**
 * Carries out a POST with an `Idempotency-Key` once: the first request reserves the key, the others get its response. Runs
 * after isolation, and before the body is validated, so that the response to an invalid body is also stored.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(
    private readonly keys: IdempotencyKeys,
    private readonly reflector: Reflector,
    private readonly tokens: TokenVerifier,
  ) {}

  /** @param permitted the part of a stored response that the sender of a repeated request may have. @default all */
  async intercept(
    context: ExecutionContext,
    next: CallHandler,
    permitted: (response: Replay) => Promise<Replay> = (response) => Promise.resolve(response),
  ): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    const reply = context.switchToHttp().getResponse<HttpResponse>();
    const key = request.method === 'POST' ? readKey(request, context.getHandler()) : undefined;
    if (key === undefined) return next.handle();
    const outcome = await this.reserve(await this.keyIdOf(context, key), request, reply);
    const unstored = this.reflector.get<string[] | undefined>(UNSTORED, context.getHandler()) ?? [];
    const exchange = new IdempotentExchange(this.keys, outcome, request, reply, unstored, permitted);
    contextOf(request).exchange = exchange;
    // Responses and problems both pass through this just before they are sent.
    request.crudPlatform.beforeSend(request, reply, (body) => exchange.settle(body));
    // The stored response replaces this one when it is sent, so nothing on the way can change it.
    if (!(outcome instanceof Reservation)) return of(undefined);
    contextOf(request).reservation = outcome;
    return next.handle();
  }

  /** What a key is stored under: the hash of it, its caller (everybody, if no token is required), the scope, and the target. */
  private async keyIdOf(context: ExecutionContext, key: string): Promise<string> {
    const { method, url } = context.switchToHttp().getRequest<HttpRequest>();
    const { caller, scopes } = await identityOf(context, this.tokens);
    const [own, ...items] = scopes;
    const identity = [caller.tenant, caller.subject, own, method, targetOf(url), key, ...items];
    return createHash('sha256').update(JSON.stringify(identity)).digest('hex');
  }

  private async reserve(
    id: string,
    request: HttpRequest,
    reply: HttpResponse,
  ): Promise<Reservation | Replay> {
    const reserving = this.keys.reserve(id, request);
    try {
      return await inTime(request, reply, reserving);
    } catch (error) {
      // If the reservation arrives too late, release it.
      const free = (late: unknown) => (late instanceof Reservation ? this.keys.release(late) : undefined);
      void reserving.then(free).catch(() => undefined);
      throw error;
    }
  }
}

/** The target of a URL in a canonical form: without needless percent-encoding, and without an empty query. */
function targetOf(url: string): string {
  const path = pathOf({ url });
  const query = url.slice(path.length + 1).replace(/^&+$/, '');
  return decodeURI(path) + (query === '' ? '' : `?${query}`);
}

/** @throws ValidationError if the header is not a single key, or if the body is a stream */
function readKey({ headers }: HttpRequest, handler: object): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (![undefined, 'operations'].includes(bodyFormatOf(handler) as string | undefined)) {
    throw new ValidationError([{ parameter: HEADER, detail: errorMessages.keyOfStream(HEADER) }]);
  }
  // Node joins repeated headers with a comma and a space.
  if (typeof key === 'string' && KEY.test(key)) return key;
  throw new ValidationError([{ parameter: HEADER, detail: errorMessages.idempotencyKey(HEADER) }]);
}

/** Stores the responses to requests with an `Idempotency-Key` and replays them; see {@link IdempotencyInterceptor}. */
@Global()
@Module({
  imports: [MongooseModule.forFeature([IDEMPOTENCY_KEYS, IDEMPOTENCY_BYTES], CRUD_CONNECTION)],
  providers: [IdempotencyKeys, StoredBytes],
  exports: [IdempotencyKeys],
})
export class IdempotencyModule {}
