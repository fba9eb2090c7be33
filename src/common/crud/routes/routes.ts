import { RequestMethod, type Type } from '@nestjs/common';
import type { ErrorCode } from '../../errors/index.js';
import type { CarriedBody } from '../../http/index.js';
import type { IsolationFields, RequestQuery } from '../../tenancy/index.js';
import { isolationOfAction } from '../definition/archive.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { isHidden } from '../definition/hidden-path.js';
import type { CrudAction, CrudBatchHandler, CrudHandler } from '../options/crud-options.js';
import type { ReadKind } from '../query/list-query.js';
import { HANDLERS } from '../options/option-names.js';
import { asksForArchived } from '../query/archived.js';

/** How the body of a route is read: as a create, as a merge patch, as operations or lines of them, or as another class. */
export type BodyKind = 'create' | 'update' | CarriedBody | Type<object>;

/** How the result of a handler becomes an answer; see `http/answers.ts`. */
export type AnswerKind = CrudHandler | CrudBatchHandler | 'archive' | 'own';

/**
 * All that the generator knows of a route. Routing, isolation, validation, answers and documentation read nothing else,
 * for the generated handlers as for a feature's own.
 */
export interface Route {
  /** Name of the method that handles it. */
  readonly handler: string;
  /** The action whose scope it has; undefined for a route that is scoped by every field of the resource. */
  readonly action?: CrudAction;
  readonly method: RequestMethod;
  /** Path below the resource's. */
  readonly path: string;
  readonly status: number;
  readonly body?: BodyKind;
  /** Names of its query parameters, if it has no typed query. */
  readonly query: readonly string[];
  /** Kind of its typed query: filters, orders and pages, as the resource declares them. */
  readonly reads?: ReadKind;
  readonly answer: AnswerKind;
  /** Class of the answer, if it is not the one that `answer` implies. */
  readonly response?: Type<object>;
  readonly summary: (definition: CrudDefinition) => string;
  /** Errors of its own, besides those that its id, body and isolation imply; a number is the status of another exception. */
  readonly errors: readonly (ErrorCode | number)[];
  /** Members of its answer that a replay does not have. @default none */
  readonly unkept?: readonly string[];
}

/** Whether a route is for requests that may bring a body, but has no use for one. */
export const ignoresBody = ({ method, body }: Route) => method === RequestMethod.POST && body === undefined;

/** The action of an item of a batch: the name of the handler whose route it takes. */
export type ItemKind = 'create' | 'update' | 'del';

type GeneratedRoute = Omit<Route, 'handler' | 'action'> & { readonly action: CrudAction };

const lower = ({ label }: CrudDefinition) => label.toLowerCase();

/** The generated routes. The one place that says what each looks like. */
export const GENERATED_ROUTES: Readonly<Record<CrudHandler, GeneratedRoute>> = {
  create: {
    action: 'create',
    method: RequestMethod.POST,
    path: '',
    status: 201,
    body: 'create',
    query: [],
    answer: 'create',
    summary: (definition) => `Create a ${lower(definition)}`,
    errors: [],
  },
  list: {
    action: 'get',
    method: RequestMethod.GET,
    path: '',
    status: 200,
    query: [],
    reads: 'list',
    answer: 'list',
    summary: ({ name }) => `List ${name}, newest first`,
    errors: ['TOO_MANY_STREAMS'],
  },
  count: {
    action: 'count',
    method: RequestMethod.GET,
    path: 'count',
    status: 200,
    query: [],
    reads: 'count',
    answer: 'count',
    summary: ({ name }) => `Count ${name}`,
    errors: [],
  },
  get: {
    action: 'get',
    method: RequestMethod.GET,
    path: ':id',
    status: 200,
    query: [],
    reads: 'get',
    answer: 'get',
    summary: (definition) => `Get one ${lower(definition)}`,
    errors: ['RECORD_NOT_FOUND'],
  },
  update: {
    action: 'update',
    method: RequestMethod.PATCH,
    path: ':id',
    status: 200,
    body: 'update',
    query: [],
    answer: 'update',
    summary: (definition) => `Update a ${lower(definition)}`,
    errors: ['RECORD_NOT_FOUND'],
  },
  del: {
    action: 'del',
    method: RequestMethod.DELETE,
    path: ':id',
    status: 200,
    query: [],
    answer: 'del',
    summary: (definition) => `Delete a ${lower(definition)}`,
    errors: ['RECORD_NOT_FOUND'],
  },
  restore: {
    action: 'update',
    method: RequestMethod.POST,
    path: ':id/restore',
    status: 200,
    query: [],
    answer: 'restore',
    summary: (definition) => `Restore an archived ${lower(definition)}`,
    errors: ['RECORD_NOT_FOUND'],
  },
};

/** Whether a resource has the route of a handler, if nothing disables its action. */
export function offers({ archive }: CrudDefinition, handler: string): handler is CrudHandler {
  return handler in GENERATED_ROUTES && (handler !== 'restore' || archive !== undefined);
}

/** Whether a resource has a generated handler. */
export function hasGenerated(definition: CrudDefinition, handler: CrudHandler): boolean {
  return offers(definition, handler) && !definition.disabled.has(GENERATED_ROUTES[handler].action);
}

/** A generated route as an archive changes it: a delete archives. */
function withArchive(route: GeneratedRoute, { archive }: CrudDefinition): GeneratedRoute {
  if (!archive) return route;
  if (route.action !== 'del') return route;
  return { ...route, answer: 'archive', summary: (definition) => `Archive a ${lower(definition)}` };
}

/** The routes for many writes. Each write has the scope of its own action. */
export const BATCH_ROUTES: Readonly<Record<CrudBatchHandler, Omit<Route, 'handler' | 'action'>>> = {
  bulk: {
    method: RequestMethod.POST,
    path: 'bulk',
    status: 200,
    body: 'operations',
    query: [],
    answer: 'bulk',
    summary: ({ name }) => `Create, update and delete ${name}, many at once`,
    errors: [],
  },
  import: {
    method: RequestMethod.POST,
    path: 'import',
    status: 200,
    body: 'lines',
    query: [],
    answer: 'import',
    summary: ({ name }) => `Create ${name} from a stream of lines`,
    errors: [],
  },
};

/** The actions that items of each batch may have. */
const ITEM_KINDS: Readonly<Record<CrudBatchHandler, readonly ItemKind[]>> = {
  bulk: ['create', 'update', 'del'],
  import: ['create'],
};

/** The generated routes of a resource, less those that it disables, with its changes to them. */
export function generatedRoutesOf(definition: CrudDefinition): Route[] {
  const handlers = HANDLERS.filter((handler) => hasGenerated(definition, handler));
  const routes = [
    ...handlers.map((handler) => ({ ...withArchive(GENERATED_ROUTES[handler], definition), handler })),
    ...definition.batches.map((handler) => ({ ...BATCH_ROUTES[handler], handler })),
  ];
  return routes.map((route): Route => {
    const { summary, response, errors = [], unkept } = definition.routes[route.handler] ?? {};
    return {
      ...route,
      errors: [...route.errors, ...errors],
      unkept,
      ...(summary !== undefined && { summary: () => summary }),
      ...(response && { response, answer: 'own' as const }),
    };
  });
}

/** The hidden fields of the entity that the answer to a create shows, this once. */
export function onceFieldsOf({ routes, schema }: CrudDefinition): string[] {
  return (routes.create?.unkept ?? []).filter((name) => isHidden(schema, name));
}

/** The resource and the routes of a controller. */
interface RoutedResource {
  readonly definition: CrudDefinition;
  readonly routes: ReadonlyMap<string, Route>;
}

/**
 * The fields that scope a request, by the name of the method that handles it. A method that is neither generated nor a `@CrudAction` is
 * scoped by every isolation field of the resource, so that forgetting a decorator opens nothing. A batch is scoped by the
 * fields that all of its items are scoped by; each item is scoped by those of its own action besides.
 */
export function isolationOfHandler(
  resource: RoutedResource,
  handler: string,
  query: RequestQuery = {},
): IsolationFields {
  const { definition, routes } = resource;
  const route = routes.get(handler);
  const generated = offers(definition, handler) ? GENERATED_ROUTES[handler] : undefined;
  const action = route?.action ?? generated?.action;
  if (action) return isolationOfAction(definition, action, asksForArchived(query));
  return isBatch(route) ? sharedFields(isolationOfItems(resource, handler)) : everyField(definition);
}

/** Whether a route is generated for many writes. */
export function isBatch(route: Route | undefined): route is Route & { readonly handler: CrudBatchHandler } {
  return route !== undefined && (route.body === 'operations' || route.body === 'lines');
}

/** The route that an item takes: that of its method and path, whether generated, overridden or the feature's own. */
export function itemRouteOf(routes: Iterable<Route>, kind: ItemKind): Route | undefined {
  const { method, path } = GENERATED_ROUTES[kind];
  return [...routes].find((route) => route.method === method && route.path === path);
}

/** The isolation fields of each kind of item that a handler carries; none if it carries none. */
export function isolationOfItems(
  { definition, routes }: RoutedResource,
  handler: string,
): readonly IsolationFields[] {
  const route = routes.get(handler);
  if (!isBatch(route)) return [];
  return ITEM_KINDS[route.handler]
    .map((kind) => itemRouteOf(routes.values(), kind)?.action)
    .filter((action) => action !== undefined)
    .map((action) => definition.isolation[action]);
}

function sharedFields([first = {}, ...others]: readonly IsolationFields[]): IsolationFields {
  const shared = Object.entries(first).filter(([field, source]) =>
    others.every((fields) => fields[field] === source),
  );
  return Object.fromEntries(shared);
}

function everyField({ isolation }: CrudDefinition): IsolationFields {
  return Object.assign({}, ...Object.values(isolation)) as IsolationFields;
}
