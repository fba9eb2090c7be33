import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  SetMetadata,
} from '@nestjs/common';
import type { Observable } from 'rxjs';
import { errorMessages, MalformedRequestError, ValidationError, type Violation } from '../errors/index.js';
import type { HttpRequest } from '../request/index.js';

/** Maximum number of parameters of a URL. */
const MAX_PARAMETERS = 200;

/** Parameters by name. A repeated parameter has a list of values. */
export type QueryParameters = Readonly<Record<string, string | readonly string[]>>;

/**
 * The query of a request, whatever the platform makes of it: parsed as `application/x-www-form-urlencoded`
 * (https://url.spec.whatwg.org/#urlencoded-parsing), but strictly. Brackets are part of a name.
 *
 * @throws MalformedRequestError if it is not UTF-8, or has too many parameters
 */
export function queryOf({ url }: HttpRequest): QueryParameters {
  const parameters = Object.create(null) as Record<string, string | string[]>;
  const begin = url.indexOf('?');
  if (begin === -1) return parameters;
  const pairs = url.slice(begin + 1).split('&', MAX_PARAMETERS + 1);
  if (pairs.length > MAX_PARAMETERS)
    throw new MalformedRequestError(errorMessages.tooManyParameters(MAX_PARAMETERS));
  for (const pair of pairs) {
    if (pair === '') continue;
    const end = pair.includes('=') ? pair.indexOf('=') : pair.length;
    const [name, value] = [decode(pair.slice(0, end)), decode(pair.slice(end + 1))];
    const known = parameters[name];
    parameters[name] = known === undefined ? value : [known, value].flat();
  }
  return parameters;
}

/** Decodes a text in which "+" is a space. @throws MalformedRequestError if it is not valid UTF-8 */
function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new MalformedRequestError(errorMessages.malformedUrl);
  }
}

const QUERY_PARAMETERS = 'http:query-parameters';

/** Declares the query parameters that a handler accepts. Without it, a handler accepts none. */
export const TakesQuery = (...names: string[]) => SetMetadata(QUERY_PARAMETERS, names);

/** Declares that the code that reads the query parameters also checks their names. */
export const ReadsQuery = () => SetMetadata(QUERY_PARAMETERS, undefined);

/** Rejects query strings that cannot be parsed, and parameters that are repeated or that the handler does not accept. */
@Injectable()
export class StrictQueryInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    checkQuery(context.switchToHttp().getRequest<HttpRequest>(), context.getHandler());
    return next.handle();
  }
}

/** Checks the query of a request as {@link StrictQueryInterceptor} does. */
export function checkQuery(request: HttpRequest, handler: object): void {
  const isDeclared = Reflect.hasMetadata(QUERY_PARAMETERS, handler);
  const allowed = isDeclared ? (Reflect.getMetadata(QUERY_PARAMETERS, handler) as string[] | undefined) : [];
  const [first, ...others] = Object.entries(queryOf(request)).flatMap(([name, value]) =>
    violation(name, value, allowed),
  );
  if (first) throw new ValidationError([first, ...others]);
}

function violation(name: string, value: unknown, allowed: readonly string[] | undefined): Violation[] {
  if (allowed && !allowed.includes(name))
    return [{ parameter: name, detail: errorMessages.unknownParameter(name, allowed) }];
  if (typeof value !== 'string') return [{ parameter: name, detail: errorMessages.repeatedParameter(name) }];
  return [];
}
