import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { UnauthenticatedError } from '../errors/index.js';
import type { HttpRequest } from '../platform/index.js';
import type { IsolationFields, IsolationRequest } from './isolation-source.js';

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

/** What the steps of a request tell the writes of its scope. Each room declares its own members. */
export interface ScopeContext {
  /** Whether the request has a body that its route does not describe, so that values may come straight from a client. */
  hasUnreadBody?: boolean;
}

type Resolve = (fields: IsolationFields) => Record<string, unknown>;

/**
 * The records that a caller may read and write. It knows the value of every isolation field and rejects an
 * action if one is missing. The `TenantInterceptor` makes it for a request; code uses {@link scopeOf} or
 * {@link unrestrictedScope}.
 */
export class TenantScope {
  // Makes the type nominal: an object literal is not a scope.
  readonly #resolve: Resolve;
  /** Travels with the scope, so that an override cannot lose it by leaving out an option. */
  readonly context: ScopeContext;

  private constructor(
    readonly caller: TenantContext,
    /** Path parameters of the request; empty for a scope made in code. */
    readonly params: Readonly<Record<string, string>>,
    resolve: Resolve,
    /** The request; undefined for a scope made in code. */
    readonly request?: HttpRequest,
    context: ScopeContext = {},
  ) {
    this.context = context;
    this.#resolve = resolve;
  }

  /** The scope of one request. */
  static ofRequest(caller: TenantContext, request: IsolationRequest): TenantScope {
    const resolve: Resolve = (fields) =>
      mapFields(fields, (_field, source) => {
        const value = source(caller, request);
        if (value === undefined || value === null) throw new UnauthenticatedError(!source.identifies);
        return value;
      });
    return new TenantScope(caller, request.params, resolve, request.request);
  }

  /** A scope with the given values. */
  static ofValues(values: Readonly<Record<string, unknown>>): TenantScope {
    const { tenant } = values;
    const caller = tenant === undefined ? ANONYMOUS : { ...ANONYMOUS, tenant: String(tenant) };
    return new TenantScope(caller, {}, (fields) =>
      mapFields(fields, (field) => {
        if (Object.hasOwn(values, field) && values[field] !== undefined && values[field] !== null) {
          return values[field];
        }
        throw new Error(
          `The scope has no "${field}", which isolates this action. Write scopeOf({ ${field} }).`,
        );
      }),
    );
  }

  /** A scope without isolation. */
  static unrestricted(caller = ANONYMOUS): TenantScope {
    return new TenantScope(caller, {}, () => ({}));
  }

  /** The same scope with more context. */
  with(context: ScopeContext): TenantScope {
    const { caller, params, request } = this;
    return new TenantScope(caller, params, this.#resolve, request, { ...this.context, ...context });
  }

  /**
   * The values of an action's isolation fields. A create writes them; every other action adds them to its
   * filter.
   *
   * @throws UnauthenticatedError, TenantRequiredError or ClaimRequiredError if the caller lacks one
   */
  valuesOf(fields: IsolationFields): Record<string, unknown> {
    return this.#resolve(fields);
  }
}

function mapFields(
  fields: IsolationFields,
  valueOf: (field: string, source: IsolationFields[string]) => unknown,
): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([field, source]) => [field, valueOf(field, source)] as const),
  );
}

/**
 * Makes a scope in code, outside a request: `service.create(scopeOf({ tenant }), input)`. A verb throws if
 * one of its isolation fields has no value.
 */
export function scopeOf(values: Readonly<Record<string, unknown>>): TenantScope {
  return TenantScope.ofValues(values);
}

/**
 * A scope that sees and changes every tenant's records; for migrations and scheduled jobs, never for a request.
 *
 * @param caller to report to hooks and events. @default nobody
 */
export function unrestrictedScope(caller?: TenantContext): TenantScope {
  return TenantScope.unrestricted(caller);
}

/**
 * Accepts only genuine scopes, so that nothing runs unscoped by mistake.
 *
 * @throws Error if the value was not made by this module
 */
export function assertScope(scope: unknown): asserts scope is TenantScope {
  if (scope instanceof TenantScope) return;
  throw new Error(
    'The first argument must be a scope: take it with @CurrentScope(), or make one with scopeOf({ tenant }).',
  );
}

declare module '../platform/index.js' {
  interface RequestState {
    /** Set by the TenantGuard. */
    tenantContext?: TenantContext;
    /** Set by the TenantInterceptor. */
    tenantScope?: TenantScope;
  }
}

/**
 * Injects the scope of the request into a handler; see {@link TenantScope}.
 *
 * @throws Error if there is none: a handler of a controller that is not isolated must not run as if it were
 */
export const CurrentScope = createParamDecorator((_data: unknown, context: ExecutionContext): TenantScope => {
  const { tenantScope } = context.switchToHttp().getRequest<HttpRequest>();
  if (tenantScope) return tenantScope;
  throw new Error(
    `No scope was computed for ${context.getClass().name}. Use @CurrentScope() in CRUD controllers only.`,
  );
});

/** The caller of a request, for your own guards and decorators; they run after isolation. */
export function callerOf(context: ExecutionContext): TenantContext {
  const { tenantContext } = context.switchToHttp().getRequest<HttpRequest>();
  if (tenantContext) return tenantContext;
  throw new Error(`Nobody has decided who calls ${context.getClass().name}.`);
}
