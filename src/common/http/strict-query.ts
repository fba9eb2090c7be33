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

/** Maximum number of parameters of a URL. */
const MAX_PARAMETERS = 200;

/** Parameters by name. A repeated parameter has a list of values. */
export type QueryParameters = Readonly<Record<string, string | readonly string[]>>;

/** Marks a query string that cannot be parsed, since the parser runs before an error can be sent. */
const MALFORMED: QueryParameters = Object.freeze({});
const TOO_LONG: QueryParameters = Object.freeze({});

/** A sentence about the fault of a query string that could not be parsed, if there is one. */
export function queryFault(query: unknown): string | undefined {
  if (query === MALFORMED) return errorMessages.malformedUrl;
  return query === TOO_LONG ? errorMessages.tooManyParameters(MAX_PARAMETERS) : undefined;
}

/**
 * Parses a query string as `application/x-www-form-urlencoded`
 * (https://url.spec.whatwg.org/#urlencoded-parsing), but strictly: it must be UTF-8 without too many
 * parameters (see {@link queryFault}). Brackets are part of a name.
 */
export function parseQueryString(text: string): QueryParameters {
  const parameters = Object.create(null) as Record<string, string | string[]>;
  const pairs = text.split('&', MAX_PARAMETERS + 1);
  if (pairs.length > MAX_PARAMETERS) return TOO_LONG;
  for (const pair of pairs) {
    if (pair === '') continue;
    const end = pair.includes('=') ? pair.indexOf('=') : pair.length;
    const [name, value] = [decode(pair.slice(0, end)), decode(pair.slice(end + 1))];
    if (name === undefined || value === undefined) return MALFORMED;
    const known = parameters[name];
    parameters[name] = known === undefined ? value : [known, value].flat();
  }
  return parameters;
}

/** Decodes a text in which "+" is a space; undefined if it is not valid UTF-8. */
function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

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
