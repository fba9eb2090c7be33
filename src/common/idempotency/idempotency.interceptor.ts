import { createHash } from 'node:crypto';
import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Observable, of } from 'rxjs';
import { errorMessages, pathOf, ValidationError } from '../errors/index.js';
import { CallerIdentity } from '../tenancy/index.js';
import type { KeptAnswer } from './idempotency-key.schema.js';
import { IdempotencyKeys } from './idempotency-keys.js';
import { IdempotentExchange, inTime } from './idempotent-exchange.js';
import { bindReservation, Reservation } from './reservation.js';

const HEADER = 'Idempotency-Key';
const KEY = /^[\x21-\x7e]{1,255}$/;
const UNKEPT = 'idempotency:unkept';

declare module 'fastify' {
  interface FastifyRequest {
    /** The reservation by which a request with an `Idempotency-Key` creates its records; set by the IdempotencyInterceptor. */
    reservation?: Reservation;
  }
}

/** Declares members of a handler's answer that are shown once: a replay does not have them, and the database neither. */
export const Unkept = (...members: string[]) => SetMetadata(UNKEPT, members);

/**
 * Carries out a POST with an `Idempotency-Key` once: the first request reserves the key, the others get its answer. It runs
 * after isolation has said who calls, and before the body is validated, so that the answer to an invalid one is kept, too.
 */
@Injectable()
export class IdempotencyInterceptor implements NestInterceptor {
  constructor(
    private readonly keys: IdempotencyKeys,
    private readonly reflector: Reflector,
    private readonly identities: CallerIdentity,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    const key = request.method === 'POST' ? readKey(request) : undefined;
    if (key === undefined) {
      // An item of a request that carries others has its part of the carrier's reservation.
      const { reservation, tenantScope } = request;
      if (reservation && tenantScope) bindReservation(tenantScope, reservation);
      return next.handle();
    }
    const outcome = await this.reserve(await this.identify(context, key), request, reply);
    const unkept = this.reflector.get<string[] | undefined>(UNKEPT, context.getHandler()) ?? [];
    request.idempotentExchange = new IdempotentExchange(this.keys, outcome, reply, unkept);
    // The kept answer takes the place of this one when it is sent: nothing on the way can change it.
    if (!(outcome instanceof Reservation)) return of(undefined);
    request.reservation = outcome;
    if (request.tenantScope) bindReservation(request.tenantScope, outcome);
    return next.handle();
  }

  /** The owner of a key: the caller (all callers, if no token is required), the scope, and the target. */
  private async identify(context: ExecutionContext, key: string): Promise<string> {
    const { method, url } = context.switchToHttp().getRequest<FastifyRequest>();
    const { tenant, subject, scopes } = await this.identities.of(context);
    const [own, ...carried] = scopes;
    const identity = [tenant, subject, own, method, targetOf(url), key, ...carried];
    return createHash('sha256').update(JSON.stringify(identity)).digest('hex');
  }

  private async reserve(
    id: string,
    { bodyHash = '' }: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Reservation | KeptAnswer> {
    const reserving = this.keys.reserve(id, bodyHash);
    try {
      return await inTime(reply, reserving);
    } catch (error) {
      // A reservation that comes too late is nobody's.
      const free = (late: unknown) => (late instanceof Reservation ? this.keys.release(late) : undefined);
      void reserving.then(free).catch(() => undefined);
      throw error;
    }
  }
}

/** The target of a URL, the same in each of its spellings: what need not be percent-encoded is not, and an empty query is none. */
function targetOf(url: string): string {
  const path = pathOf({ url });
  const query = url.slice(path.length + 1).replace(/^&+$/, '');
  return decodeURI(path) + (query === '' ? '' : `?${query}`);
}

/** @throws ValidationError if the header is not one key, or the body a stream */
function readKey({ headers, routeOptions }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key'];
  if (key === undefined) return undefined;
  if (routeOptions.config.carriedBody === 'lines') {
    throw new ValidationError([{ parameter: HEADER, detail: errorMessages.keyOfStream(HEADER) }]);
  }
  // Node joins headers that are given twice with a comma and a space.
  if (typeof key === 'string' && KEY.test(key)) return key;
  throw new ValidationError([{ parameter: HEADER, detail: errorMessages.idempotencyKey(HEADER) }]);
}
