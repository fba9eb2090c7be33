import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyRequest } from 'fastify';
import type { Observable } from 'rxjs';
import { errorMessages, MalformedRequestError, ValidationError, type Violation } from '../errors/index.js';
import { queryFault } from './query-string.js';

const QUERY_PARAMETERS = 'http:query-parameters';

/** Declares the query parameters that a handler accepts. Without it, a handler accepts none. */
export const TakesQuery = (...names: string[]) => SetMetadata(QUERY_PARAMETERS, names);

/** Declares that the code that reads the query parameters also checks their names. */
export const ReadsQuery = () => SetMetadata(QUERY_PARAMETERS, undefined);

/**
 * Rejects query strings that cannot be parsed, repeated parameters, and parameters that the handler does not
 * accept.
 */
@Injectable()
export class StrictQueryInterceptor implements NestInterceptor {
  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const handler = context.getHandler();
    const isRead = Reflect.hasMetadata(QUERY_PARAMETERS, handler);
    const allowed = this.reflector.get<string[] | undefined>(QUERY_PARAMETERS, handler);
    const { query } = context.switchToHttp().getRequest<FastifyRequest>();
    const fault = queryFault(query);
    if (fault !== undefined) throw new MalformedRequestError(fault);
    const names = isRead ? allowed : (allowed ?? []);
    const [first, ...others] = Object.entries(query as object).flatMap(([name, value]) =>
      violation(name, value, names),
    );
    if (first) throw new ValidationError([first, ...others]);
    return next.handle();
  }
}

function violation(name: string, value: unknown, allowed: readonly string[] | undefined): Violation[] {
  if (allowed && !allowed.includes(name))
    return [{ parameter: name, detail: errorMessages.unknownParameter(name, allowed) }];
  if (typeof value !== 'string') return [{ parameter: name, detail: errorMessages.repeatedParameter(name) }];
  return [];
}
