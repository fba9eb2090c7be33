import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { Types } from 'mongoose';
import { ClaimRequiredError, TenantRequiredError, UnauthenticatedError } from '../errors/index.js';
import { contextOf, type HttpRequest, type RequestContext } from '../request/index.js';

/** The caller, as far as the credentials tell. Plain data, made only by the `TenantGuard`. */
export interface TenantContext {
  /** Whether a token was verified. */
  readonly authenticated: boolean;
  /** The tenant that the token names: 24 hexadecimal digits in lower case. */
  readonly tenant?: string;
  /** The token's subject (`sub`, RFC 7519, section 4.1.2). */
  readonly subject?: string;
  /** Every claim of the verified token; empty for anonymous callers. */
  readonly claims: Readonly<Record<string, unknown>>;
  /** Name of the claim that contains the tenant, for messages. */
  readonly tenantClaim?: string;
}

/** The context of a caller who was not asked for credentials. */
export const ANONYMOUS: TenantContext = Object.freeze({ authenticated: false, claims: Object.freeze({}) });

/** Decides about a caller, at once and by a boolean: anything else fails the request. It must be pure, since it may run several times. */
export type CallerPredicate = (caller: TenantContext) => boolean;

/** Has a predicate decide. @throws Error if it returns no boolean: a promise would admit everybody */
export function decide(predicate: CallerPredicate, caller: TenantContext): boolean {
  const decision: unknown = predicate(caller);
  if (typeof decision === 'boolean') return decision;
  throw new Error('A predicate about callers must return true or false, not a promise.');
}

/** Makes a {@link CallerPredicate}: whether the claim `roles` (a list) or `role` of the token names a role. */
export function hasRole(role: string): CallerPredicate {
  return ({ claims: { role: only, roles } }) =>
    only === role || (Array.isArray(roles) && roles.includes(role));
}

declare module '../request/index.js' {
  interface RequestContext {
    /** Set by the TenantGuard. */
    caller?: TenantContext;
    /** Set by `applyScope`, which the CrudInterceptor calls. */
    scope?: TenantScope;
    /** Whether the request has a body that its route does not describe, so that values may come straight from a client. */
    hasUnreadBody?: boolean;
  }
}

/** Returns the value of an isolation field, or throws. */
type ValueOf = (field: string, source: IsolationSource) => unknown;

/** That of a scope which no field isolates. */
const UNRESTRICTED: ValueOf = () => undefined;

/** The records that a caller may read and write. Code makes it with {@link scopeOf} or {@link unrestrictedScope}. */
export class TenantScope {
  // Makes the type nominal: an object literal is not a scope.
  readonly #valueOf: ValueOf;

  constructor(
    readonly caller: TenantContext,
    valueOf: ValueOf,
    /** Path parameters of the request; empty for a scope made in code. */
    readonly params: Readonly<Record<string, string>> = {},
    /** The request; undefined for a scope made in code. */
    readonly request?: HttpRequest,
    /** Travels with the scope, so that an override cannot lose it by leaving out an option. */
    readonly context: RequestContext = request ? contextOf(request) : {},
  ) {
    this.#valueOf = valueOf;
  }

  /** The same scope with more context. */
  with(context: RequestContext): TenantScope {
    const { caller, params, request } = this;
    return new TenantScope(caller, this.#valueOf, params, request, { ...this.context, ...context });
  }

  /**
   * The values of an action's isolation fields. A create writes them; others add them to their filter.
   *
   * @throws UnauthenticatedError, TenantRequiredError or ClaimRequiredError if the caller lacks one
   */
  valuesOf(fields: IsolationFields): Record<string, unknown> {
    const values: Record<string, unknown> = {};
    for (const [field, source] of Object.entries(fields)) {
      const { alternatives, exempts } = source;
      // Code has no caller that a predicate could be about.
      const isExempt = this.request && exempts && decide(exempts, this.caller);
      if (isExempt || this.#valueOf === UNRESTRICTED) continue;
      values[field] = alternatives?.map((set) => this.valuesOf(set)) ?? this.#valueOf(field, source);
    }
    return values;
  }
}

/** The scope of one request. */
export function scopeOfRequest(caller: TenantContext, request: HttpRequest): TenantScope {
  const params = request.params as Readonly<Record<string, string>>;
  const valueOf = (_field: string, source: IsolationSource) => {
    const value = source(caller, { params, request });
    if (value === undefined || value === null) throw new UnauthenticatedError(!source.identifies);
    return value;
  };
  return new TenantScope(caller, valueOf, params, request);
}

/** Makes a scope in code: `service.create(scopeOf({ tenant }), input)`. A verb throws without the value of an isolation field. */
export function scopeOf(values: Readonly<Record<string, unknown>>): TenantScope {
  const { tenant } = values;
  const caller = tenant === undefined ? ANONYMOUS : { ...ANONYMOUS, tenant: String(tenant) };
  return new TenantScope(caller, (field) => {
    const value = Object.hasOwn(values, field) ? values[field] : undefined;
    if (value !== undefined && value !== null) return value;
    throw new Error(`The scope has no "${field}", which isolates this action. Write scopeOf({ ${field} }).`);
  });
}

/**
 * A scope that sees and changes every tenant's records; for migrations and scheduled jobs, never for a request.
 *
 * @param caller to report to hooks and events. @default nobody
 */
export function unrestrictedScope(caller: TenantContext = ANONYMOUS): TenantScope {
  return new TenantScope(caller, UNRESTRICTED);
}

/** Accepts no object that only looks like a scope, so that nothing runs unscoped by mistake. */
export function assertScope(scope: unknown): asserts scope is TenantScope {
  if (scope instanceof TenantScope) return;
  throw new Error(
    'The first argument must be a scope: take it with @CurrentScope(), or make one with scopeOf({ tenant }).',
  );
}

/**
 * Injects the scope of the request into a handler; see {@link TenantScope}.
 *
 * @throws Error if there is none: a handler of a controller that is not isolated must not run as if it were
 */
export const CurrentScope = createParamDecorator((_data: unknown, context: ExecutionContext): TenantScope => {
  const { scope } = contextOf(context.switchToHttp().getRequest<HttpRequest>());
  if (scope) return scope;
  throw new Error(
    `No scope was computed for ${context.getClass().name}. Use @CurrentScope() in CRUD controllers only.`,
  );
});

/** The caller of a request, for your own guards and decorators; they run after isolation. */
export function callerOf(context: ExecutionContext): TenantContext {
  const { caller } = contextOf(context.switchToHttp().getRequest<HttpRequest>());
  if (caller) return caller;
  throw new Error(`Nobody has decided who calls ${context.getClass().name}.`);
}

/** The part of a request that an isolation source may read. */
export interface IsolationRequest {
  /** Path parameters, as sent. */
  readonly params: Readonly<Record<string, string>>;
  readonly request: HttpRequest;
}

/**
 * Returns the value of an isolation field for one request, in the type of the field: nothing is cast. It must be pure,
 * since it may run several times. Undefined and null reject the request with 401.
 */
export interface IsolationSource {
  (caller: TenantContext, request: IsolationRequest): unknown;
  /** Whether the value is available without a token. @default false: an action with this source requires one */
  readonly anonymous?: boolean;
  /** Whether the application identifies the caller, as {@link fromRequest} says. @default false */
  readonly identifies?: boolean;
  /** Path parameter that the value comes from, if any. */
  readonly param?: string;
  /** Claim that the value comes from, if any. */
  readonly claim?: string;
  /** Whether it has several values, one of which a record has. @default false */
  readonly isList?: boolean;
  /** Sets of fields, one of which is to fit. @default none: the value is that of one field */
  readonly alternatives?: readonly IsolationFields[];
  /** Callers that the field does not isolate. @default none */
  readonly exempts?: CallerPredicate;
  /** The source for all other callers, and for creates. */
  readonly inner?: IsolationSource;
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

/** Makes one source of each name, so that two actions can be recognised as having the same source. */
function byName(make: (name: string) => IsolationSource): (name: string) => IsolationSource {
  const known = new Map<string, IsolationSource>();
  return (name) => {
    const source = known.get(name) ?? make(name);
    known.set(name, source);
    return source;
  };
}

const isScalar = (value: unknown) => ['string', 'number', 'boolean'].includes(typeof value) && value !== '';

function ofClaim(name: string, isValue: (value: unknown) => boolean, isList: boolean): IsolationSource {
  const source: IsolationSource = ({ claims: all, authenticated }) => {
    const value = Object.hasOwn(all, name) ? all[name] : undefined;
    if (isValue(value)) return value;
    throw authenticated ? new ClaimRequiredError(name) : new UnauthenticatedError();
  };
  return Object.assign(source, { claim: name, isList });
}

/**
 * Makes an {@link IsolationSource} of a claim of the token, such as `claim('sub')`: a string, a number or a boolean, in the
 * type of the field.
 *
 * @throws ClaimRequiredError if the token has no such claim, or one of another type
 */
export const claim = byName((name) => ofClaim(name, isScalar, false));

/**
 * Makes an {@link IsolationSource} of a claim that is a list, such as `claims('tenants')`: reads see the records of all
 * entries, and a create names one in its body, unless there is one only.
 *
 * @throws ClaimRequiredError if the token has no such claim, or one that is empty or of another type
 */
export const claims = byName((name) =>
  ofClaim(name, (value) => Array.isArray(value) && value.length > 0 && value.every(isScalar), true),
);

/** Name of alternatives among isolation fields, as the store has it. */
export const ANY_OF = '$or';

/**
 * Isolates `get` and `count` by one of several sets of fields: `get: anyOf({ sender: claim('sub') }, { recipient: claim('sub') })`
 * shows a message to both.
 *
 * @throws Error if there is no set, or one without fields, which would isolate nothing
 */
export function anyOf(...alternatives: readonly IsolationFields[]): IsolationFields {
  if (alternatives.length === 0 || alternatives.some((fields) => Object.keys(fields).length === 0))
    throw new Error("anyOf needs sets of fields, such as { owner: claim('sub') }, and none may be empty.");
  const source: IsolationSource = () => undefined;
  const anonymous = alternatives.every((fields) => !needsToken(fields));
  const identifies = alternatives.some((fields) => Object.values(fields).some((one) => one.identifies));
  return { [ANY_OF]: Object.assign(source, { alternatives, anonymous, identifies }) };
}

/**
 * Isolates all callers but some: `unlessCaller(hasRole('support'), { tenant: currentTenant })`. What those create has the
 * fields all the same.
 */
export function unlessCaller(exempts: CallerPredicate, fields: IsolationFields): IsolationFields {
  const entries = Object.entries(fields).map(([field, inner]) => {
    const source: IsolationSource = (caller, request) => inner(caller, request);
    return [field, Object.assign(source, inner, { exempts, inner })] as const;
  });
  return Object.fromEntries(entries);
}

/** The sets of fields that a read may be filtered by, whoever calls. */
export function fieldSets(fields: IsolationFields): string[][] {
  let sets: string[][] = [[]];
  for (const [field, { alternatives, exempts }] of Object.entries(fields)) {
    const more = alternatives?.flatMap(fieldSets) ?? [[field]];
    const joined = sets.flatMap((set) => more.map((added) => [...set, ...added]));
    sets = exempts ? [...joined, ...sets] : joined;
  }
  return sets;
}

/** Makes an {@link IsolationSource} of a path parameter, such as `routeParam('postId')`. It needs no token. */
export const routeParam = byName((param) => {
  const source: IsolationSource = (_caller, { params }) => params[param];
  return Object.assign(source, { anonymous: true, param });
});

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
