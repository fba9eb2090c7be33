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
import type { Observable } from 'rxjs';
import { InvalidTokenError, UnauthenticatedError } from '../errors/index.js';
import { contextOf, type HttpRequest, rawOf } from '../request/index.js';
import {
  ANONYMOUS,
  type IsolationFields,
  needsToken,
  type TenantContext,
  TenantScope,
} from './tenant-scope.js';
import { bearerTokenOf, TokenVerifier, type TokenVerifierOptions } from './tokens.js';

/** The senders of requests, identified by their bearer tokens (RFC 6750). */
@Injectable()
export class Callers {
  private readonly callers = new WeakMap<object, Promise<TenantContext>>();

  constructor(private readonly verifier: TokenVerifier) {}

  /**
   * The caller of a request. Sub-requests share the token of the request around them, which is verified once.
   *
   * @throws UnauthenticatedError, InvalidTokenError without a valid token
   */
  async of(request: HttpRequest): Promise<TenantContext> {
    const raw = rawOf(request);
    const token = bearerTokenOf(request);
    const caller = this.callers.get(raw) ?? this.verifier.authenticate(token);
    this.callers.set(raw, caller);
    return caller;
  }
}

/** Decides who sends a request: an isolated action needs a valid bearer token (RFC 6750). */
@Injectable()
export class TenantGuard implements CanActivate {
  /** @param callers identifies the sender of a request */
  constructor(private readonly callers: Callers) {}

  /** @throws UnauthenticatedError, InvalidTokenError if the action needs a token, and there is no valid one */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    contextOf(request).caller = needsToken(isolationOf(context)) ? await this.callers.of(request) : ANONYMOUS;
    return true;
  }
}

/**
 * Makes the scope of a request whose caller has been decided.
 *
 * @throws UnauthenticatedError, TenantRequiredError or ClaimRequiredError if the caller lacks a value of one of the fields
 */
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

/**
 * Applies the guard's decision: makes the scope of the request, the first argument of every verb of a
 * service. A caller who lacks an isolation value of the action is rejected here, before anything is read.
 */
@Injectable()
export class TenantInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const request = context.switchToHttp().getRequest<HttpRequest>();
    applyScope(request, isolationOf(context));
    return next.handle();
  }
}

/**
 * Scopes every handler of a controller, including those of its subclasses. Applied to the class, so that no
 * decorator on a method can remove it: guards and interceptors of methods are added to those of their class.
 */
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

/**
 * Returns the fields that scope a request, by the name of its handler, the controller of the handler, and the
 * request itself, which may ask for more than everybody sees.
 */
export type IsolationResolver = (
  handler: string,
  controller: Type<object>,
  request: HttpRequest,
) => IsolationFields;

/** Returns the fields that scope each kind of item of a batch. */
export type ItemIsolationResolver = (handler: string, controller: Type<object>) => readonly IsolationFields[];

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
  return resolver(handlerName(context), controller, context.switchToHttp().getRequest<HttpRequest>());
}

/** The fields that scope each kind of item of a batch; empty for other requests. */
export function itemIsolationOf(context: ExecutionContext): readonly IsolationFields[] {
  const controller = context.getClass();
  const resolver = Reflect.getMetadata(ITEM_ISOLATION, controller) as ItemIsolationResolver | undefined;
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
  constructor(private readonly callers: Callers) {}

  /**
   * For a route that needs no token, all callers are the same, unless an item of a batch needs one. Each item
   * is then decided separately, and the token, if there is one, identifies the owner of the items.
   */
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
      return await this.callers.of(request);
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

const VERIFIER_OPTIONS = Symbol('TokenVerifierOptions');

/** Provides the callers, which the TenantGuard of every feature uses. */
@Global()
@Module({})
export class TenancyModule {
  static forRoot(options: TokenVerifierOptions): DynamicModule {
    return TenancyModule.forRootAsync({ useFactory: () => options });
  }

  static forRootAsync(
    options: Pick<FactoryProvider<TokenVerifierOptions>, 'inject' | 'useFactory'>,
  ): DynamicModule {
    return {
      module: TenancyModule,
      providers: [
        { provide: VERIFIER_OPTIONS, ...options },
        {
          provide: TokenVerifier,
          inject: [VERIFIER_OPTIONS],
          useFactory: (given: TokenVerifierOptions) => new TokenVerifier(given),
        },
        Callers,
        CallerIdentity,
      ],
      exports: [TokenVerifier, Callers, CallerIdentity],
    };
  }
}
