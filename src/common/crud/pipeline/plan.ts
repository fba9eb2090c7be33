import type { Type } from '@nestjs/common';
import { errorMessages, toPointer, ValidationError } from '../../errors/index.js';
import {
  type BodyOptions,
  InputReader,
  isPlainObject,
  markChecked,
  shorten,
  TextReader,
} from '../../fields/index.js';
import type { IsolationFields } from '../../tenancy/index.js';
import { readOperations } from '../batch/operation.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { CrudAction } from '../options/crud-options.js';
import {
  type ControllerMetadata,
  ignoresBody,
  inputOf,
  isBatch,
  isolationOfHandler,
  isolationOfItems,
  onceFieldsOf,
  type Route,
  Shape,
  takesIfMatch,
  takesInput,
} from '../routes/routes.js';

const ORIGIN = 'crud:origin';
const ROUTE_TABLE = 'crud:route-table';

/** What is decided about the requests to a method before they arrive. */
export interface RoutePlan {
  readonly definition: CrudDefinition;
  /** Undefined for a route of plain Nest decorators. */
  readonly route: Route | undefined;
  /** The action that its caller must be allowed to carry out on a record. */
  readonly action: CrudAction;
  /** The fields that scope a request. */
  readonly isolation: IsolationFields;
  /** The fields that scope a request for archived records. */
  readonly archivedIsolation: IsolationFields;
  /** The fields that scope each kind of item of a batch. */
  readonly items: readonly IsolationFields[];
  /** Whether it carries many writes, each with the scope of its own action. */
  readonly isBatch: boolean;
  /** The hidden fields that the response to a create shows once. */
  readonly onceFields: readonly string[];
  /** Whether the body is that of a create or an update. */
  readonly isInput: boolean;
  /** Validates a body and returns it; a merge patch takes the reader of its record. Undefined if the route declares no body. */
  readonly readBody:
    ((body: unknown, options?: BodyOptions, reader?: InputReader<object>) => unknown) | undefined;
  /** Reads the query into its class, if the route has one, and the headers into theirs. */
  readonly readQuery: TextReader<object> | undefined;
  readonly readHeaders: TextReader<object> | undefined;
  /** Whether it takes `If-Match`. */
  readonly takesIfMatch: boolean;
}

/** What a generated controller was made of. */
interface Origin {
  readonly definition: CrudDefinition;
  /** Class of its service; undefined for the generated one. */
  readonly service: Type<object> | undefined;
  /** The generated handlers. */
  readonly methods: ReadonlySet<unknown>;
}

/** Marks a controller as generated, and stores what it was made of, which its subclasses inherit. */
export function markGenerated(
  controller: Type<object>,
  definition: CrudDefinition,
  service: Type<object> | undefined,
): void {
  const members = Object.values(Object.getOwnPropertyDescriptors(controller.prototype as object));
  const methods = new Set(members.map(({ value }) => value as unknown));
  Reflect.defineMetadata(ORIGIN, { definition, service, methods } satisfies Origin, controller);
}

/** What a controller, or the generated one that it extends, was made of. */
export function originOf(controller: Type<object>): Partial<Origin> {
  return (Reflect.getMetadata(ORIGIN, controller) ?? {}) as Partial<Origin>;
}

/** Whether a controller is the generated one itself. */
export function isGenerated(controller: Type<object>): boolean {
  return Reflect.hasOwnMetadata(ORIGIN, controller);
}

/** The route table of a controller, and the plans of its methods. */
interface PlannedRoutes extends ControllerMetadata {
  readonly plans: Map<string, RoutePlan>;
}

/** Stores the whole route table of one controller. */
export function storeRoutes(
  controller: Type<object>,
  definition: CrudDefinition,
  routes: readonly Route[],
): void {
  const table = new Map(routes.map((route) => [route.handler, route]));
  const planned: PlannedRoutes = { definition, routes: table, plans: new Map() };
  Reflect.defineMetadata(ROUTE_TABLE, planned, controller);
  for (const { handler } of routes) planOf(controller, handler);
}

/** Whether a controller has its route table, which `forFeature` gives it. */
export function hasRoutes(controller: Type<object>): boolean {
  return Reflect.hasOwnMetadata(ROUTE_TABLE, controller);
}

/** @throws Error if the controller was not passed to `CrudModule.forFeature` */
export function metadataOf(controller: Type<object>): PlannedRoutes {
  const planned = Reflect.getOwnMetadata(ROUTE_TABLE, controller) as PlannedRoutes | undefined;
  if (planned) return planned;
  throw new Error(
    `${controller.name} is no controller of a resource. Pass it to CrudModule.forFeature(options, { controller }).`,
  );
}

/** The plan of a method of a controller. */
export function planOf(controller: Type<object>, handler: string): RoutePlan {
  const metadata = metadataOf(controller);
  const { definition, plans, routes } = metadata;
  const known = plans.get(handler);
  if (known) return known;
  const route = routes.get(handler);
  const input = route && inputOf(definition, route);
  const plan: RoutePlan = {
    definition,
    route,
    action: route?.action ?? 'get',
    isolation: isolationOfHandler(metadata, handler),
    archivedIsolation: isolationOfHandler(metadata, handler, !route?.query),
    items: isolationOfItems(metadata, handler),
    isBatch: isBatch(route),
    onceFields: onceFieldsOf(definition),
    isInput: route !== undefined && takesInput(definition, route),
    readBody: route && bodyReader(definition, { ...route, body: input ?? route.body }),
    readQuery: route?.query && new TextReader(route.query),
    readHeaders: route?.headers && new TextReader(route.headers, true),
    takesIfMatch: route !== undefined && takesIfMatch(route, definition),
  };
  plans.set(handler, plan);
  return plan;
}

/** How the body of a route is read: strictly, naming every violation. */
function bodyReader({ createReader, updateReader }: CrudDefinition, route: Route): RoutePlan['readBody'] {
  const { body: kind } = route;
  if (ignoresBody(route)) return rejectBody;
  if (kind === undefined) return undefined;
  if (kind === 'create')
    return async (body, options) => markChecked(await createReader.read(body, options), createReader);
  if (kind === 'update')
    return async (body, options, reader = updateReader) =>
      markChecked(await reader.readPatch(body, options), reader);
  if (kind === 'lines' || kind === 'query') return (body) => body as object;
  if (kind === 'operations') return readOperations;
  const isPatch = kind instanceof Shape;
  const reader = new InputReader(isPatch ? kind.type : kind);
  return (body) => (isPatch ? reader.readPatch(body) : reader.read(body));
}

/** Rejects a body sent to a route that takes none. `{}` is accepted. */
function rejectBody(body: unknown): undefined {
  if (body === undefined || body === null) return undefined;
  if (!isPlainObject(body)) throw new ValidationError([{ pointer: '', detail: errorMessages.notAnObject }]);
  const [name] = Object.keys(body).map(shorten);
  if (name === undefined) return undefined;
  throw new ValidationError([{ pointer: toPointer([name]), detail: errorMessages.unknownField(name, []) }]);
}

/** Path of a route, without what the application puts before all of them. */
export function pathOfRoute(controller: Type<object>, { path }: Pick<Route, 'path'>): string {
  const parts = `${metadataOf(controller).definition.path}/${path}`.split('/');
  return `/${parts.filter((part) => part !== '').join('/')}`;
}
