import type { ExecutionContext, Type } from '@nestjs/common';
import { Types } from 'mongoose';
import { ClaimRequiredError, TenantRequiredError, UnauthenticatedError } from '../errors/index.js';
import { queryOf } from '../http/index.js';
import type { HttpRequest } from '../platform/index.js';
import type { TenantContext } from './tenant-scope.js';

/** The part of a request that an isolation source may read. */
export interface IsolationRequest {
  /** Path parameters, as sent. */
  readonly params: Readonly<Record<string, string>>;
  readonly request: HttpRequest;
}

/**
 * Returns the value of an isolation field for one request, in the type of the field: nothing is cast. It must
 * be pure, since it may run several times per request. Undefined and null reject the request with 401, since a
 * filter without a value would match every tenant's records.
 */
export interface IsolationSource {
  (caller: TenantContext, request: IsolationRequest): unknown;
  /**
   * Whether the value is available without a token.
   *
   * @default false: an action with this source requires one
   */
  readonly anonymous?: boolean;
  /** Whether the application identifies the caller, as {@link fromRequest} says. @default false */
  readonly identifies?: boolean;
  /** Path parameter that the value comes from, if any. */
  readonly param?: string;
  /** Claim that the value comes from, if any. */
  readonly claim?: string;
}

/** The fields that scope one action, and where their values come from. */
export type IsolationFields = Readonly<Record<string, IsolationSource>>;

/**
 * An {@link IsolationSource}: the tenant of the caller, in the store's type.
 *
 * @throws TenantRequiredError if the token names no tenant
 */
export function currentTenant(caller: TenantContext): Types.ObjectId {
  if (caller.tenant !== undefined) return new Types.ObjectId(caller.tenant);
  throw caller.authenticated
    ? new TenantRequiredError(caller.tenantClaim ?? 'tenant')
    : new UnauthenticatedError();
}

/** Sources by the name that they read, so that two actions can be recognised as having the same source. */
const claimSources = new Map<string, IsolationSource>();
const paramSources = new Map<string, IsolationSource>();

/**
 * Makes an {@link IsolationSource} of a claim of the token, such as `claim('sub')`. The claim must be a string, a number or
 * a boolean, as the type of the field requires: `1`, `"1"` and `true` are three values.
 *
 * @throws ClaimRequiredError if the token has no such claim, or one of another type
 */
export function claim(name: string): IsolationSource {
  const source = claimSources.get(name) ?? claimSource(name);
  claimSources.set(name, source);
  return source;
}

function claimSource(name: string): IsolationSource {
  const source: IsolationSource = ({ claims, authenticated }) => {
    const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
    if (['string', 'number', 'boolean'].includes(typeof value) && value !== '') return value;
    throw authenticated ? new ClaimRequiredError(name) : new UnauthenticatedError();
  };
  return Object.assign(source, { claim: name });
}

/**
 * Makes an {@link IsolationSource} of a path parameter, such as `routeParam('postId')`. It needs no token.
 */
export function routeParam(name: string): IsolationSource {
  const source = paramSources.get(name) ?? paramSource(name);
  paramSources.set(name, source);
  return source;
}

function paramSource(name: string): IsolationSource {
  return Object.assign((_caller: TenantContext, { params }: IsolationRequest) => params[name], {
    anonymous: true,
    param: name,
  });
}

/** A request whose sender a guard of the application, such as one of Passport, has identified. */
export interface SignedInRequest extends Pick<HttpRequest, 'headers'> {
  readonly user?: Readonly<Record<string, unknown>>;
}

/**
 * Makes an {@link IsolationSource} of what a guard of your own has found out about the sender of a request:
 * `fromRequest((request) => request.user?.account)`. No token is asked for. A request without a value, or with one that
 * the field cannot have, is a 401.
 *
 * @param read takes the value from the request, which is that of Express or Fastify
 */
export function fromRequest<Request extends object = SignedInRequest>(
  read: (request: Request) => unknown,
): IsolationSource {
  const source = (_caller: TenantContext, { request }: IsolationRequest) => {
    const value = read(request as object as Request);
    return value === '' ? undefined : value;
  };
  return Object.assign(source, { anonymous: true, identifies: true });
}

/** Whether an action with these fields requires a token. */
export function needsToken(fields: IsolationFields): boolean {
  return Object.values(fields).some((source) => !source.anonymous);
}

/** Whether an action with these fields is for everyone, signed in or not. */
export function isOpen(fields: IsolationFields): boolean {
  return !needsToken(fields) && !Object.values(fields).some(({ identifies }) => identifies);
}

/** Metadata key of a controller's resolver. */
export const ISOLATION = 'tenancy:isolation';

/** Metadata key of the resolver for the requests that a controller's handlers carry. */
export const CARRIED_ISOLATION = 'tenancy:carried-isolation';

/** Query parameters of a request, as sent. */
export type RequestQuery = Readonly<Record<string, unknown>>;

/**
 * Returns the fields that scope a request, by the name of its handler, the controller of the handler, and the
 * query, which may ask for more than everybody sees.
 */
export type IsolationResolver = (
  handler: string,
  controller: Type<object>,
  query: RequestQuery,
) => IsolationFields;

/** Returns the fields that scope each kind of request that a handler carries. */
export type CarriedIsolationResolver = (
  handler: string,
  controller: Type<object>,
) => readonly IsolationFields[];

const names = new WeakMap<object, Map<unknown, string>>();

/**
 * The fields that scope a request.
 *
 * @throws Error if the controller is not `@Isolated`, so that nothing runs unscoped
 */
export function isolationOf(context: ExecutionContext): IsolationFields {
  const controller = context.getClass();
  const resolver = Reflect.getMetadata(ISOLATION, controller) as IsolationResolver | undefined;
  if (!resolver) throw new Error(`${controller.name} is not @Isolated.`);
  const query = queryOf(context.switchToHttp().getRequest<HttpRequest>());
  return resolver(handlerName(context), controller, query);
}

/** The fields that scope each kind of request that this one carries; empty if it carries none. */
export function carriedIsolationOf(context: ExecutionContext): readonly IsolationFields[] {
  const controller = context.getClass();
  const resolver = Reflect.getMetadata(CARRIED_ISOLATION, controller) as CarriedIsolationResolver | undefined;
  return resolver?.(handlerName(context), controller) ?? [];
}

/**
 * Name of the method that handles a request. The function's own name may differ, since a decorator may have
 * replaced it.
 */
export function handlerName(context: ExecutionContext): string {
  const [controller, method] = [context.getClass(), context.getHandler()];
  const ofController = names.get(controller) ?? new Map<unknown, string>();
  names.set(controller, ofController);
  const name = ofController.get(method) ?? nameOnPrototype(controller, method);
  ofController.set(method, name);
  return name;
}

function nameOnPrototype(type: Type, method: unknown): string {
  let prototype = type.prototype as object | null;
  for (; prototype; prototype = Object.getPrototypeOf(prototype) as object | null) {
    const found = Object.entries(Object.getOwnPropertyDescriptors(prototype)).find(
      ([, descriptor]) => descriptor.value === method,
    );
    if (found) return found[0];
  }
  throw new Error(`${type.name} has no method for the handler of this request.`);
}
