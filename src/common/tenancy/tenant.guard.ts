import {
  applyDecorators,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  SetMetadata,
  type Type,
  UseGuards,
} from '@nestjs/common';
import { MetadataScanner } from '@nestjs/core';
import { InvalidTokenError, UnauthenticatedError } from '../errors/index.js';
import { contextOf, type HttpRequest } from '../request/index.js';
import {
  ANONYMOUS,
  type IsolationFields,
  needsToken,
  scopeOfRequest,
  type TenantContext,
  type TenantScope,
} from './tenant-scope.js';
import { TokenVerifier } from './tokens.js';

/** Decides who sends a request: an isolated action needs a valid bearer token (RFC 6750). */
@Injectable()
export class TenantGuard implements CanActivate {
  constructor(private readonly tokens: TokenVerifier) {}

  /** @throws UnauthenticatedError, InvalidTokenError if the action needs a token, and there is no valid one */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    const isIdentified = needsToken(isolationOf(context));
    contextOf(request).caller = isIdentified ? await this.tokens.callerOf(request) : ANONYMOUS;
    return true;
  }
}

/** Makes the scope of a request whose caller has been decided. @throws as `TenantScope.valuesOf` */
export function applyScope(request: HttpRequest, fields: IsolationFields): TenantScope {
  // Without the guard, nobody has decided who is calling.
  const context = contextOf(request);
  if (!context.caller) throw new Error('The TenantGuard did not run before the scope was applied.');
  const scope = scopeOfRequest(context.caller, request);
  const values = scope.valuesOf(fields);
  // Callers whom the application identifies do not share the limits of their address.
  const identity = Object.keys(fields).filter((field) => fields[field]?.identifies && field in values);
  if (identity.length > 0) {
    const client = JSON.stringify(identity.map((field) => values[field]));
    request.crudOwner = { group: client, client };
  }
  context.scope = scope;
  return scope;
}

/** Scopes every handler of a controller and its subclasses. Of the class, so that no decorator on a method can remove it. */
export function Isolated(resolver: IsolationResolver): ClassDecorator {
  return applyDecorators(SetMetadata(ISOLATION, resolver), UseGuards(TenantGuard));
}

const ISOLATION = 'tenancy:isolation';

/** Returns the fields that scope a request, which may ask for more than everybody sees, then those of each kind of its items. */
type IsolationResolver = (
  handler: string,
  controller: Type<object>,
  request: HttpRequest,
) => readonly [IsolationFields, ...IsolationFields[]];

/** Remembers the methods of each class. */
const scanner = new MetadataScanner();

/** The fields that scope a request. @throws Error if the controller is not `@Isolated`, so that nothing runs unscoped */
export function isolationOf(context: ExecutionContext): IsolationFields {
  return isolationsOf(context)[0];
}

function isolationsOf(context: ExecutionContext): ReturnType<IsolationResolver> {
  const controller = context.getClass();
  const resolver = Reflect.getMetadata(ISOLATION, controller) as IsolationResolver | undefined;
  if (!resolver) throw new Error(`${controller.name} is not @Isolated.`);
  return resolver(handlerName(context), controller, context.switchToHttp().getRequest<HttpRequest>());
}

/** Name of the method that handles a request. That of the function may differ: a decorator may have replaced it. */
export function handlerName(context: ExecutionContext): string {
  const [type, method] = [context.getClass(), context.getHandler()];
  const methods = type.prototype as Record<string, unknown>;
  const name = scanner.getAllMethodNames(methods).find((one) => methods[one] === method);
  if (name === undefined) throw new Error(`${type.name} has no method for the handler of this request.`);
  return name;
}

/**
 * What distinguishes the callers of one route: who sends the request, and the values of the isolation fields of the route,
 * then of the items of a batch; null if a value is missing. Where no token is needed, all callers are the same.
 */
export async function identityOf(context: ExecutionContext, tokens: TokenVerifier) {
  const request = context.switchToHttp().getRequest<HttpRequest>();
  const { scope } = contextOf(request);
  // A hand-written controller may isolate nothing.
  if (!scope) return { caller: ANONYMOUS, scopes: [{}] };
  const isolations = isolationsOf(context);
  const isSent = isolations.slice(1).some(needsToken);
  const caller = isSent ? await tokens.callerOf(request).catch(anonymousWithout) : scope.caller;
  const own = scopeOfRequest(caller, request);
  return { caller, scopes: isolations.map((fields) => valuesOf(own, fields)) };
}

/** The sender of a request without a valid token. */
function anonymousWithout(error: unknown): TenantContext {
  if (error instanceof UnauthenticatedError || error instanceof InvalidTokenError) return ANONYMOUS;
  throw error;
}

/** A caller without a value is rejected by the action that needs it. */
function valuesOf(scope: TenantScope, fields: IsolationFields): Readonly<Record<string, unknown>> | null {
  try {
    return scope.valuesOf(fields);
  } catch {
    return null;
  }
}
