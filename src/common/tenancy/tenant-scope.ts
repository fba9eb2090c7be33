import { UnauthenticatedError } from '../errors/index.js';
import type { IsolationFields, IsolationRequest } from './isolation-source.js';
import { ANONYMOUS, type TenantContext } from './tenant-context.js';

type Resolve = (fields: IsolationFields) => Record<string, unknown>;

/**
 * The records that a caller may read and write: it knows the value of every isolation field, and rejects an action without a value. Made for a
 * request by the `TenantInterceptor`, and in code by {@link scopeOf} or {@link unrestrictedScope}.
 */
export class TenantScope {
  // Makes the type nominal: an object literal is no scope.
  readonly #resolve: Resolve;

  private constructor(
    readonly caller: TenantContext,
    /** Path parameters of the request; empty for a scope made in code. */
    readonly params: Readonly<Record<string, string>>,
    resolve: Resolve,
  ) {
    this.#resolve = resolve;
  }

  /** The scope of one request. */
  static ofRequest(caller: TenantContext, request: IsolationRequest): TenantScope {
    return new TenantScope(caller, request.params, (fields) =>
      mapFields(fields, (_field, source) => {
        const value = source(caller, request);
        if (value === undefined || value === null) throw new UnauthenticatedError();
        return value;
      }),
    );
  }

  /** A scope of given values. */
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

  /** A scope that isolates nothing. */
  static unrestricted(caller = ANONYMOUS): TenantScope {
    return new TenantScope(caller, {}, () => ({}));
  }

  /**
   * The values of an action's isolation fields: a create writes them, every other action adds them to its filter.
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
 * Makes a scope in code, outside of a request: `service.create(scopeOf({ tenant }), input)`. A verb that is isolated by a
 * field that is not given throws.
 */
export function scopeOf(values: Readonly<Record<string, unknown>>): TenantScope {
  return TenantScope.ofValues(values);
}

/**
 * A scope that sees and changes every tenant's records; for migrations and scheduled jobs, never for a request.
 *
 * @param caller the one whom hooks and events are told. @default nobody
 */
export function unrestrictedScope(caller?: TenantContext): TenantScope {
  return TenantScope.unrestricted(caller);
}

/**
 * Lets only genuine scopes pass, so that nothing runs unscoped by mistake.
 *
 * @throws Error if the value was not made by this room
 */
export function assertScope(scope: unknown): asserts scope is TenantScope {
  if (scope instanceof TenantScope) return;
  throw new Error(
    'The first argument must be a scope: take it with @CurrentScope(), or make one with scopeOf({ tenant }).',
  );
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the TenantGuard. */
    tenantContext?: TenantContext;
    /** Set by the TenantInterceptor. */
    tenantScope?: TenantScope;
  }
}
