import { METHODS } from 'node:http';
import { type CanActivate, RequestMethod, type Type } from '@nestjs/common';
import type { ErrorCode } from '../../errors/index.js';
import type { BatchBody } from '../../http/index.js';
import type { IsolationFields } from '../../tenancy/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { isHidden } from '../schema/schema-paths.js';
import type { CrudAction, CrudBatchHandler, CrudHandler } from '../options/crud-options.js';
import type { ReadKind } from '../query/list-query.js';

/** What a route takes or responds with, other than one object of a class. */
export class Shape<Kind extends 'list' | 'page' | 'patch'> {
  constructor(
    readonly kind: Kind,
    readonly type: Type<object>,
  ) {}
}

/** A response that is a list of records of the entity, or of objects of another class. */
export const listOf = (type: Type<object>) => new Shape('list', type);

/** A response that is a page of records of the entity, as `page` of the service returns it. */
export const pageOf = (entity: Type<object>) => new Shape('page', entity);

/** A body that is a merge patch (RFC 7396) of a class: every field is optional, and null removes one. */
export const patchOf = (input: Type<object>) => new Shape('patch', input);

/**
 * How the body of a route is read: as a create, a merge patch, a query, operations or lines of them, or another class
 * or a merge patch of it.
 */
export type BodyKind = 'create' | 'update' | 'query' | BatchBody | Type<object> | Shape<'patch'>;

/** How the result of a handler becomes a response; see `pipeline/respond.ts`. */
export type ResponseKind = CrudHandler | CrudBatchHandler | 'archive' | 'own';

/**
 * Everything that the generator knows about a route. Routing, isolation, validation, responses and
 * documentation read nothing else, for the generated handlers as well as for your own.
 */
export interface Route {
  /** Name of the method that handles it. */
  readonly handler: string;
  /** The action whose scope the route has; undefined if every field of the resource scopes it. */
  readonly action?: CrudAction;
  readonly method: RequestMethod;
  /** Path below the resource's path. */
  readonly path: string;
  readonly status: number;
  readonly body?: BodyKind;
  /** Media type of a body that is not read here. */
  readonly consumes?: string;
  /** Class of the query parameters, unless `reads` says which there are. */
  readonly query?: Type<object>;
  /** Class of the headers that the route declares. */
  readonly headers?: Type<object>;
  /** Kind of the typed query: filters, orders and pages, as the resource declares them. */
  readonly reads?: ReadKind;
  readonly kind: ResponseKind;
  /** Class of the response, if it is not the one that `kind` implies, or media type of a file. */
  readonly response?: Type<object> | Shape<'list' | 'page'> | string;
  readonly guards?: readonly (Type<CanActivate> | CanActivate)[];
  readonly decorators?: readonly MethodDecorator[];
  readonly summary: (definition: CrudDefinition) => string;
  /**
   * Errors of the route, besides those that follow from its id, body and isolation. A number is another
   * exception's status.
   */
  readonly errors: readonly (ErrorCode | number)[];
  /** Members of the response that a replay leaves out. @default none */
  readonly unstored?: readonly string[];
  /** Whether the handler is the generated one, and only the response sees what it returns. @default false */
  readonly isUncustomised?: boolean;
}

/** Whether the requests of a route may have a body, although the route does not use it. */
export const ignoresBody = ({ method, body, consumes }: Route) =>
  method === RequestMethod.POST && body === undefined && consumes === undefined;

/** Whether the body of a route is that of a create or an update, also where your own route takes the resource's input. */
export function inputOf(
  { inputs, kinds, options }: CrudDefinition,
  { body }: Route,
): 'create' | 'update' | undefined {
  const { create, update } = kinds ? { create: options.input, update: options.input } : inputs;
  if (body === 'create' || body === create) return 'create';
  return body === 'update' || (body instanceof Shape && body.type === update) ? 'update' : undefined;
}

/** Whether the body of a route has fields of a create or an update, which its caller may not be allowed to write. */
export function takesInput(definition: CrudDefinition, route: Route): boolean {
  const { body } = route;
  const ofKinds: readonly unknown[] = Object.values(definition.options.kinds ?? {});
  return (
    inputOf(definition, route) !== undefined || ofKinds.includes(body instanceof Shape ? body.type : body)
  );
}

/** Whether a route of your own responds with a record of the resource. */
export const returnsRecord = ({ kind, response }: Route, { entity }: CrudDefinition) =>
  kind === 'own' && response === entity;

/** Whether a route changes a record and responds with it, or changes the one that its path names, so that it takes `If-Match`. */
export function takesIfMatch(route: Route, definition: CrudDefinition): boolean {
  const changes = route.action === 'update' || route.action === 'del';
  return changes && (returnsRecord(route, definition) || route.path.split('/').includes(':id'));
}

/** The kind of a batch's item: the name of the handler whose route it takes. */
export type ItemKind = 'create' | 'update' | 'del';

/** A row of the table. Its response is that of its handler. */
type Row<Action = CrudAction | undefined> = Omit<Route, 'handler' | 'action' | 'kind'> & {
  readonly action: Action;
};

function row<Action extends CrudAction | undefined>(
  action: Action,
  method: RequestMethod,
  path: string,
  summary: Route['summary'],
  more: Partial<Row> = {},
): Row<Action> {
  const errors: ErrorCode[] = path.startsWith(':id') ? ['RECORD_NOT_FOUND'] : [];
  return { status: 200, errors, ...more, action, method, path, summary };
}

const { GET, POST, PATCH, DELETE } = RequestMethod;
const lower = ({ label }: CrudDefinition) => label.toLowerCase();

/** The generated routes, each defined here and nowhere else. */
export const GENERATED_ROUTES: Readonly<Record<CrudHandler, Row<CrudAction>>> = {
  create: row('create', POST, '', (crud) => `Create a ${lower(crud)}`, { status: 201, body: 'create' }),
  list: row('get', GET, '', ({ name }) => `List ${name}, newest first`, {
    reads: 'list',
    errors: ['TOO_MANY_STREAMS'],
  }),
  count: row('count', GET, 'count', ({ name }) => `Count ${name}`, { reads: 'count' }),
  get: row('get', GET, ':id', (crud) => `Get one ${lower(crud)}`, { reads: 'get' }),
  update: row('update', PATCH, ':id', (crud) => `Update a ${lower(crud)}`, { body: 'update' }),
  del: row('del', DELETE, ':id', (crud) => `${crud.archive ? 'Archive' : 'Delete'} a ${lower(crud)}`),
  restore: row('update', POST, ':id/restore', (crud) => `Restore an archived ${lower(crud)}`),
};

/** The routes for many writes. Each write has the scope of its own action. */
const BATCH_ROUTES: Readonly<Record<CrudBatchHandler, Row>> = {
  bulk: row(undefined, POST, 'bulk', ({ name }) => `Create, update and delete ${name}, many at once`, {
    body: 'operations',
  }),
  import: row(undefined, POST, 'import', ({ name }) => `Create ${name} from a stream of lines`, {
    body: 'lines',
  }),
};

/** Whether a resource has the route of a handler, unless its action is disabled. */
export function offers({ archive }: CrudDefinition, handler: string): handler is CrudHandler {
  return handler in GENERATED_ROUTES && (handler !== 'restore' || archive !== undefined);
}

export function hasGenerated(definition: CrudDefinition, handler: CrudHandler): boolean {
  return offers(definition, handler) && !definition.disabled.has(GENERATED_ROUTES[handler].action);
}

/** Name of the HTTP method QUERY (RFC 10008); undefined where Node or Nest does not know it yet. */
const QUERY = METHODS.includes('QUERY')
  ? (RequestMethod as Partial<Record<'QUERY', RequestMethod>>).QUERY
  : undefined;

export const TAKES_QUERY = QUERY !== undefined;

const byBody = (method: RequestMethod, path: string) =>
  row('get', method, path, ({ name }) => `List ${name} by a query in the body`, {
    ...GENERATED_ROUTES.list,
    body: 'query',
  });

/** The routes that list the records which the body of the request describes. */
const BODY_QUERIES: Readonly<Record<string, Row>> = {
  ...(QUERY !== undefined && { listByQuery: byBody(QUERY, '') }),
  listByPost: byBody(POST, 'query'),
};

/** The generated handler that a handler stands for: a query in a body is a list. */
export function handlerOf(handler: string): CrudHandler {
  return (handler in BODY_QUERIES ? 'list' : handler) as CrudHandler;
}

const ITEM_KINDS: Readonly<Record<CrudBatchHandler, readonly ItemKind[]>> = {
  bulk: ['create', 'update', 'del'],
  import: ['create'],
};

const ALL_ROUTES: Readonly<Record<string, Row>> = { ...GENERATED_ROUTES, ...BODY_QUERIES, ...BATCH_ROUTES };

/** The generated routes of a resource, without the disabled ones and with the resource's changes. */
export function generatedRoutesOf(definition: CrudDefinition): Route[] {
  const { archive, batches, routes } = definition;
  const isOffered = (handler: string) =>
    hasGenerated(definition, handlerOf(handler)) || batches.some((batch) => batch === handler);
  const offered = Object.entries(ALL_ROUTES).filter(([handler]) => isOffered(handler));
  return offered.map(([name, route]): Route => {
    const handler = handlerOf(name);
    const { summary, response, unstored } = routes[handler] ?? {};
    return {
      ...route,
      handler: name,
      kind: archive && handler === 'del' ? 'archive' : handler,
      errors: [...new Set([...route.errors, ...errorsOf(definition, handler)])],
      unstored,
      ...(summary !== undefined && { summary: () => summary }),
      ...(response && { response, kind: 'own' as const }),
    };
  });
}

/** The routes for one record whose guards guard another route, too, unless that one has its own. */
const GUARDED_BY: Readonly<Partial<Record<string, readonly (ItemKind | 'get')[]>>> = {
  list: ['get'],
  count: ['get'],
  restore: ['update', 'del'],
};

/** The routes for one record whose guards guard a generated route, too. */
export function guardedBy({ routes }: CrudDefinition, handler: string): readonly (ItemKind | 'get')[] {
  const name = handlerOf(handler);
  return routes[name]?.guards === undefined ? (GUARDED_BY[name] ?? []) : [];
}

function errorsOf(definition: CrudDefinition, handler: CrudHandler | CrudBatchHandler) {
  const { routes } = definition;
  const inherited = guardedBy(definition, handler).flatMap((kind) => routes[kind]?.errors ?? []);
  // A list finds what a get may miss.
  const rejections = handler === 'restore' ? inherited : inherited.filter((error) => error === 403);
  return [...rejections, ...(routes[handler]?.errors ?? [])];
}

/** The hidden fields of the entity that the response to a create shows once. */
export function onceFieldsOf({ routes, schema }: CrudDefinition): string[] {
  return (routes.create?.unstored ?? []).filter((name) => isHidden(schema, name));
}

/** The definition that a controller was made from, and its routes by the names of their methods. */
export interface ControllerMetadata {
  readonly definition: CrudDefinition;
  readonly routes: ReadonlyMap<string, Route>;
}

/**
 * The fields that scope a request, by the name of the method that handles it. A method that is neither
 * generated nor a `@CrudAction` is scoped by every isolation field of the resource, so forgetting a decorator
 * exposes nothing. A batch is scoped by the fields that scope all of its items, and each item also by those
 * of its own action.
 */
export function isolationOfHandler(
  metadata: ControllerMetadata,
  handler: string,
  isForArchived = false,
): IsolationFields {
  const { definition, routes } = metadata;
  const route = routes.get(handler);
  const generated = offers(definition, handler) ? GENERATED_ROUTES[handler] : undefined;
  const action = route?.action ?? generated?.action;
  if (action) return (isForArchived ? definition.archivedIsolation : definition.isolation)[action];
  return isBatch(route) ? sharedFields(isolationOfItems(metadata, handler)) : everyField(definition);
}

export function isBatch(route: Route | undefined): route is Route & { readonly handler: CrudBatchHandler } {
  return route !== undefined && (route.body === 'operations' || route.body === 'lines');
}

/** The route for one record, by method and path, whether generated, overridden or your own. */
export function itemRouteOf({ routes }: ControllerMetadata, kind: ItemKind | 'get'): Route | undefined {
  const { method, path } = GENERATED_ROUTES[kind];
  return [...routes.values()].find((route) => route.method === method && route.path === path);
}

/** The isolation fields of each kind of item that a handler accepts; empty if it accepts none. */
export function isolationOfItems(metadata: ControllerMetadata, handler: string): readonly IsolationFields[] {
  const route = metadata.routes.get(handler);
  if (!isBatch(route)) return [];
  return ITEM_KINDS[route.handler]
    .map((kind) => itemRouteOf(metadata, kind)?.action)
    .filter((action) => action !== undefined)
    .map((action) => metadata.definition.isolation[action]);
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
