import {
  applyDecorators,
  type CallHandler,
  type CanActivate,
  type DynamicModule,
  type ExecutionContext,
  type FactoryProvider,
  Global,
  Injectable,
  Module,
  type NestInterceptor,
  SetMetadata,
  type Type,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { MetadataScanner } from '@nestjs/core';
import type { Observable } from 'rxjs';
import { InvalidTokenError, UnauthenticatedError } from '../errors/index.js';
import { contextOf, type HttpRequest } from '../request/index.js';
import {
  ANONYMOUS,
  type IsolationFields,
  needsToken,
  type TenantContext,
  TenantScope,
} from './tenant-scope.js';
import { TokenVerifier, type TokenVerifierOptions } from './tokens.js';

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

/** Makes the scope of a request whose caller has been decided. @throws as {@link TenantScope.valuesOf} */
export function applyScope(request: HttpRequest, fields: IsolationFields): TenantScope {
  // Without the guard, nobody has decided who is calling.
  const context = contextOf(request);
  if (!context.caller) throw new Error('The TenantGuard did not run before the scope was applied.');
  const params = request.params as Readonly<Record<string, string>>;
  const scope = TenantScope.ofRequest(context.caller, { params, request });
  scope.valuesOf(fields);
  context.scope = scope;
  return scope;
}

/** Makes the scope of a request. A caller who lacks an isolation value is rejected here, before anything is read. */
@Injectable()
export class TenantInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    applyScope(request, isolationOf(context));
    return next.handle();
  }
}

/** Scopes every handler of a controller and its subclasses. Of the class, so that no decorator on a method can remove it. */
export function Isolated(resolver: IsolationResolver): ClassDecorator {
  return applyDecorators(IsolatedBy(resolver), UseInterceptors(TenantInterceptor));
}

/** The same for a controller whose own interceptor makes the scopes. */
export function IsolatedBy(
  resolver: IsolationResolver,
  items: ItemIsolationResolver = () => [],
): ClassDecorator {
  return applyDecorators(
    SetMetadata(ISOLATION, resolver),
    SetMetadata(ITEM_ISOLATION, items),
    UseGuards(TenantGuard),
  );
}

/** Metadata key of a controller's resolver. */
export const ISOLATION = 'tenancy:isolation';

/** Metadata key of the resolver for the items of a controller's batches. */
const ITEM_ISOLATION = 'tenancy:item-isolation';

/** Returns the fields that scope a request, which may ask for more than everybody sees. */
type IsolationResolver = (handler: string, controller: Type<object>, request: HttpRequest) => IsolationFields;

/** Returns the fields that scope each kind of item of a batch. */
type ItemIsolationResolver = (handler: string, controller: Type<object>) => readonly IsolationFields[];

/** The names of handlers, by controller and method. */
const names = new WeakMap<object, Map<unknown, string>>();

/** The fields that scope a request. @throws Error if the controller is not `@Isolated`, so that nothing runs unscoped */
export function isolationOf(context: ExecutionContext): IsolationFields {
  const controller = context.getClass();
  const resolver = Reflect.getMetadata(ISOLATION, controller) as IsolationResolver | undefined;
  if (!resolver) throw new Error(`${controller.name} is not @Isolated.`);
  return resolver(handlerName(context), controller, context.switchToHttp().getRequest<HttpRequest>());
}

/** The fields that scope each kind of item of a batch; empty for other requests. */
function itemIsolationOf(context: ExecutionContext): readonly IsolationFields[] {
  const controller = context.getClass();
  const resolver = Reflect.getMetadata(ITEM_ISOLATION, controller) as ItemIsolationResolver | undefined;
  return resolver?.(handlerName(context), controller) ?? [];
}

/** Name of the method that handles a request. That of the function may differ: a decorator may have replaced it. */
export function handlerName(context: ExecutionContext): string {
  const [type, method] = [context.getClass(), context.getHandler()];
  const known = names.get(type) ?? new Map<unknown, string>();
  const found = known.get(method);
  if (found !== undefined) return found;
  const methods = type.prototype as Record<string, unknown>;
  const name = new MetadataScanner().getAllMethodNames(methods).find((one) => methods[one] === method);
  if (name === undefined) throw new Error(`${type.name} has no method for the handler of this request.`);
  names.set(type, known.set(method, name));
  return name;
}

/** Distinguishes the callers of one route. */
export interface Identity {
  readonly tenant: string | undefined;
  readonly subject: string | undefined;
  /** Values of the isolation fields of the route, then of the items of a batch; null if a value is missing. */
  readonly scopes: readonly (Readonly<Record<string, unknown>> | null)[];
}

/** Identifies the caller that a request is made for. */
@Injectable()
export class CallerIdentity {
  constructor(private readonly tokens: TokenVerifier) {}

  /** For a route that needs no token, all callers are the same, unless an item of a batch needs one. */
  async of(context: ExecutionContext): Promise<Identity> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    // A hand-written controller may isolate nothing.
    const { caller: known, scope: given } = contextOf(request);
    if (!given) return { tenant: undefined, subject: undefined, scopes: [{}] };
    const items = itemIsolationOf(context);
    const caller = items.some(needsToken) ? await this.senderOf(request) : known;
    const params = request.params as Readonly<Record<string, string>>;
    const scope = TenantScope.ofRequest(caller ?? ANONYMOUS, { params, request });
    const scopes = [isolationOf(context), ...items].map((fields) => valuesOf(scope, fields));
    return { tenant: caller?.tenant, subject: caller?.subject, scopes };
  }

  private async senderOf(request: HttpRequest): Promise<TenantContext> {
    try {
      return await this.tokens.callerOf(request);
    } catch (error) {
      if (error instanceof UnauthenticatedError || error instanceof InvalidTokenError) return ANONYMOUS;
      throw error;
    }
  }
}

/** A caller without a value is rejected by the action that needs it. */
function valuesOf(scope: TenantScope, fields: IsolationFields): Readonly<Record<string, unknown>> | null {
  try {
    return scope.valuesOf(fields);
  } catch {
    return null;
  }
}

/** Provides the verifier of tokens, which the TenantGuard of every feature uses. */
@Global()
@Module({})
export class TenancyModule {
  static forRootAsync({
    inject,
    useFactory,
  }: Pick<FactoryProvider<TokenVerifierOptions>, 'inject' | 'useFactory'>): DynamicModule {
    const made = async (...injected: unknown[]) => new TokenVerifier(await useFactory(...injected));
    return {
      module: TenancyModule,
      providers: [{ provide: TokenVerifier, inject, useFactory: made }, CallerIdentity],
      exports: [TokenVerifier, CallerIdentity],
    };
  }
}
