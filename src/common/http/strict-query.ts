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
import { errorMessages, ValidationError, type Violation } from '../errors/index.js';

const QUERY_PARAMETERS = 'http:query-parameters';

/** Declares the query parameters that a handler has; without it, a handler has none. */
export const TakesQuery = (...names: string[]) => SetMetadata(QUERY_PARAMETERS, names);

/** Refuses query parameters that the handler does not have, and those given twice. */
@Injectable()
export class StrictQueryInterceptor implements NestInterceptor {
  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const allowed = this.reflector.get<string[] | undefined>(QUERY_PARAMETERS, context.getHandler()) ?? [];
    const query = context.switchToHttp().getRequest<FastifyRequest>().query as Record<string, unknown>;
    const [first, ...others] = Object.entries(query).flatMap(([name, value]) =>
      violation(name, value, allowed),
    );
    if (first) throw new ValidationError([first, ...others]);
    return next.handle();
  }
}

function violation(name: string, value: unknown, allowed: readonly string[]): Violation[] {
  if (!allowed.includes(name))
    return [{ parameter: name, detail: errorMessages.unknownParameter(name, allowed) }];
  if (typeof value !== 'string') return [{ parameter: name, detail: errorMessages.repeatedParameter(name) }];
  return [];
}
