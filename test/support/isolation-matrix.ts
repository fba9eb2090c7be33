import {
  applyDecorators,
  type CanActivate,
  Delete,
  Body,
  Get,
  Header,
  HttpCode,
  Injectable,
  type NestInterceptor,
  Param,
  Patch,
  Post,
  SetMetadata,
  type Type,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import {
  type Changes,
  CrudAction,
  CrudController,
  CurrentQuery,
  CurrentScope,
  IdPipe,
  type TenantScope,
} from '../../src/index.js';
import { NoteInput, NotePatch, type Options, privateNotes, serviceOf, Wrapped } from './private-notes.js';
import type { Made } from './resource.js';

@Injectable()
class LetThrough implements CanActivate, NestInterceptor {
  canActivate = () => true;
  intercept: NestInterceptor['intercept'] = (_context, next) => next.handle();
}

/** How each action is asked for. */
export const ACTIONS = {
  list: { method: 'GET', handler: 'list', path: '', route: Get },
  page: { method: 'GET', handler: 'list', path: '?limit=50', route: Get },
  archived: { method: 'GET', handler: 'list', path: '?archived=include', route: Get },
  count: { method: 'GET', handler: 'count', path: '/count', route: Get },
  get: { method: 'GET', handler: 'get', path: '/:id', route: Get },
  create: { method: 'POST', handler: 'create', path: '', route: Post },
  update: { method: 'PATCH', handler: 'update', path: '/:id', route: Patch },
  del: { method: 'DELETE', handler: 'del', path: '/:id', route: Delete },
  restore: { method: 'POST', handler: 'restore', path: '/:id/restore', route: Post },
} as const;

export type MatrixAction = keyof typeof ACTIONS;

type Handler = (typeof ACTIONS)[MatrixAction]['handler'];

/** The action whose scope each has. */
const isolatedAs = (action: MatrixAction) => {
  const { handler } = ACTIONS[action];
  return handler === 'list' ? 'get' : handler === 'restore' ? 'update' : handler;
};

/** A decorator that puts another function in the place of the method. */
const Replaced: MethodDecorator = (_target, _key, descriptor) => {
  const original = descriptor.value as unknown as (...given: unknown[]) => unknown;
  function replacement(this: unknown, ...given: unknown[]) {
    return original.apply(this, given);
  }
  return { ...descriptor, value: replacement as never };
};

class Copy {
  transform<T>(value: T): T {
    return typeof value === 'object' && value !== null && 'text' in value ? { ...value } : value;
  }
}

/** What is written on a method: its decorators, and those of its parameters. */
interface Written {
  method?: (options: Options, action: MatrixAction, path: string) => MethodDecorator[];
  parameters?: (...pipes: Copy[]) => Partial<Record<Handler, ParameterDecorator[]>>;
  pipes?: Copy[];
}

const repeated = (...pipes: Copy[]): Record<Handler, ParameterDecorator[]> => ({
  list: [CurrentScope(), CurrentQuery(...(pipes as []))],
  count: [CurrentScope(), CurrentQuery()],
  get: [CurrentScope(), Param('id', IdPipe), CurrentQuery()],
  create: [CurrentScope(), Body(...(pipes as []))],
  update: [CurrentScope(), Param('id', IdPipe), Body(...(pipes as []))],
  del: [CurrentScope(), Param('id', IdPipe)],
  restore: [CurrentScope(), Param('id', IdPipe)],
});

export const KINDS: Readonly<Record<string, Written>> = {
  none: {},
  UseInterceptors: { method: () => [UseInterceptors(LetThrough)] },
  UseGuards: { method: () => [UseGuards(LetThrough)] },
  route: {
    method: (_options, action) => [ACTIONS[action].route(ACTIONS[action].path.replace(/^\/|\?.*/g, ''))],
  },
  HttpCode: { method: () => [HttpCode(207)] },
  Header: { method: () => [Header('X-Kind', 'Header')] },
  SetMetadata: { method: () => [SetMetadata('roles', ['admin'])] },
  parameters: { parameters: repeated },
  pipes: { parameters: repeated, pipes: [new Copy()] },
  replaced: { method: () => [Replaced] },
  CrudAction: {
    method: (options, action, path) => [
      CrudAction(options, {
        method: ACTIONS[action].method,
        path,
        isolatedAs: isolatedAs(action),
        ...(action === 'create' && { body: NoteInput }),
        ...(action === 'update' && { body: NotePatch }),
        ...(ACTIONS[action].handler === 'list' && { query: 'list' as const }),
        ...(action === 'count' && { response: Wrapped }),
      }),
    ],
  },
};

/** Writes decorators on a method, as the source would. */
function write({ prototype }: Type, name: string, written: MethodDecorator[], params: ParameterDecorator[]) {
  const target = prototype as object;
  params.forEach((decorator, index) => decorator(target, name, index));
  const descriptor = Object.getOwnPropertyDescriptor(target, name) as PropertyDescriptor;
  // The last one is applied first.
  const decorated = Reflect.decorate(written.toReversed(), target, name, descriptor);
  Object.defineProperty(target, name, decorated as PropertyDescriptor);
}

/** What a place makes of a kind. */
export interface MatrixResource {
  options: Options;
  controller: Type<object>;
  service: Type<object>;
  /** Path of an action below the resource's. */
  pathOf: (action: MatrixAction) => string;
  /** Whether the OpenAPI document describes what an action answers. */
  documents: (action: MatrixAction) => boolean;
}

const pathOf = (action: MatrixAction) => ACTIONS[action].path;

/** Overrides of every handler, each with the decorators of the kind. */
function overriding(name: string, kind: Written): MatrixResource {
  const options = privateNotes(name);
  const service = serviceOf(options);
  const Generated = CrudController(options, service);
  class Overriding extends Generated {}
  for (const action of Object.keys(ACTIONS) as MatrixAction[]) {
    const { handler, path } = ACTIONS[action];
    if (handler !== action) continue;
    const generated = Generated.prototype[handler] as (...given: unknown[]) => Promise<unknown>;
    Object.assign(Overriding.prototype, {
      async [handler](...given: unknown[]) {
        const answer = await generated.apply(this, given);
        // As an own action the count is no number with a name.
        return handler === 'count' && kind === KINDS.CrudAction ? { data: { count: answer } } : answer;
      },
    });
    const decorators = kind.method?.(options, action, path.slice(1)) ?? [];
    write(Overriding, handler, decorators, kind.parameters?.(...(kind.pipes ?? []))[handler] ?? []);
  }
  return { options, service, controller: Overriding, pathOf, documents: documentedBy(kind) };
}

/** A `@CrudAction` documents one object, not a list of them. */
const documentedBy = (kind: Written) => (action: MatrixAction) =>
  kind !== KINDS.CrudAction || ACTIONS[action].handler !== 'list';

/** Routes of the controller's own: below `own`, with the scope only or through the service's verbs. */
function owning(name: string, kind: Written, through: 'scope' | 'service'): MatrixResource {
  const options = privateNotes(name);
  const service = serviceOf(options);
  const isDirect = through === 'scope';
  class Owning extends CrudController(options, service) {
    ownList(scope: TenantScope) {
      return isDirect ? this.service.reach(scope) : this.service.list(scope);
    }
    ownPage(scope: TenantScope) {
      return this.service.page(scope, { offset: 0, limit: 50 });
    }
    ownArchived(scope: TenantScope) {
      return this.service.list(scope, { archived: 'include' });
    }
    async ownCount(scope: TenantScope) {
      const count = await (isDirect ? this.service.reachCount(scope) : this.service.count(scope));
      return { data: { count } };
    }
    ownGet(scope: TenantScope, id: string) {
      return isDirect ? this.service.reachOne(scope, id) : this.service.get(scope, id);
    }
    // A record inside of another object is no less a record.
    async ownCreate(scope: TenantScope, body: Made): Promise<object> {
      if (!isDirect) return this.service.create(scope, body);
      return { data: await this.service.create(scope, { ...body }) };
    }
    ownUpdate(scope: TenantScope, id: string, body: Changes<Made>) {
      return this.service.update(scope, id, isDirect ? { ...body } : body);
    }
    ownDel(scope: TenantScope, id: string) {
      return isDirect ? this.service.drop(scope, id) : this.service.del(scope, id);
    }
    ownRestore(scope: TenantScope, id: string) {
      return this.service.restore(scope, id);
    }
  }
  const pathOf = (action: MatrixAction) =>
    ['page', 'archived'].includes(action) ? `own-${action}` : `own${ACTIONS[action].path}`;
  for (const action of Object.keys(ACTIONS) as MatrixAction[]) {
    const { handler } = ACTIONS[action];
    const own = `own${action.charAt(0).toUpperCase()}${action.slice(1)}`;
    const isAction = kind === KINDS.CrudAction;
    const route = isAction ? [] : [ACTIONS[action].route(pathOf(action))];
    const extra = kind.method?.(options, action, pathOf(action)) ?? [];
    // The last route decorator counts. A function's metadata is lost if the function is replaced later.
    const comesFirst = kind === KINDS.route || kind === KINDS.replaced;
    const decorators = comesFirst ? [...extra, ...route] : [...route, ...extra];
    const all = repeated(...(kind.pipes ?? []))[handler];
    write(Owning, own, decorators, handler === 'list' ? all.slice(0, 1) : all);
  }
  const documents = kind === KINDS.CrudAction && !isDirect ? documentedBy(kind) : () => false;
  return { options, service, controller: Owning, pathOf: (action) => `/${pathOf(action)}`, documents };
}

/** Decorators of the class; kinds that classes cannot have are left out. */
const CLASS_KINDS: Readonly<Record<string, ClassDecorator>> = {
  none: applyDecorators(),
  UseInterceptors: UseInterceptors(LetThrough),
  UseGuards: UseGuards(LetThrough),
  SetMetadata: SetMetadata('roles', ['admin']),
  replaced: ((target: Type<object>) => class Replacing extends target {}) as unknown as ClassDecorator,
};

function decorated(name: string, kind: string): MatrixResource {
  const options = privateNotes(name);
  const service = serviceOf(options);
  class Decorated extends CrudController(options, service) {}
  const controller = (CLASS_KINDS[kind]?.(Decorated) ?? Decorated) as Type<object>;
  return { options, service, controller, pathOf, documents: () => true };
}

export const PLACES = {
  override: overriding,
  'own route with the scope': (name: string, kind: Written) => owning(name, kind, 'scope'),
  'own route through the service': (name: string, kind: Written) => owning(name, kind, 'service'),
} as const;

/** Every resource of the matrix by its place and kind. */
export function matrixResources(): Map<string, MatrixResource> {
  const resources = new Map<string, MatrixResource>();
  Object.entries(PLACES).forEach(([place, make], at) => {
    for (const [kind, written] of Object.entries(KINDS))
      resources.set(`${kind} · ${place}`, make(`notes-${at}-${kind.toLowerCase()}`, written));
  });
  for (const kind of Object.keys(CLASS_KINDS))
    resources.set(`${kind} · class`, decorated(`notes-3-${kind.toLowerCase()}`, kind));
  return resources;
}
