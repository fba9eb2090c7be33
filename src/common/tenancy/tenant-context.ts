/** Who calls, as far as the credentials say. Plain data, made by the {@link TenantGuard} alone. */
export interface TenantContext {
  /** The tenant of the verified token: 24 hexadecimal digits in lower case. Absent on public actions. */
  readonly tenant?: string;
}

/** The context of a caller who was not asked for credentials. */
export const ANONYMOUS: TenantContext = Object.freeze({});

/** Where the value of an isolation field comes from, for one request. */
export type IsolationSource = (caller: TenantContext) => unknown;

/** The fields that scope one action, and where their values come from. */
export type IsolationFields = Readonly<Record<string, IsolationSource>>;

/** What a caller may touch: the values that create writes, and that every other action adds to its filter. */
export interface TenantScope {
  readonly caller: TenantContext;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The scope of a caller on an action that nothing isolates. */
export const UNSCOPED: TenantScope = Object.freeze({ caller: ANONYMOUS, fields: Object.freeze({}) });

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the TenantGuard. */
    tenantContext?: TenantContext;
    /** Set by the TenantInterceptor. */
    tenantScope?: TenantScope;
  }
}
