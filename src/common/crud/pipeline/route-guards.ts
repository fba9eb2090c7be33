import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  type CanActivate,
  type ExecutionContext,
  HttpException,
  Injectable,
  type Type,
} from '@nestjs/common';
import { GUARDS_METADATA } from '@nestjs/common/constants.js';
import { UnauthenticatedError } from '../../errors/index.js';
import { contextOf, type HttpRequest, type HttpResponse } from '../../request/index.js';
import { handlerName, isolationOf, needsToken, TenantGuard, type TenantScope } from '../../tenancy/index.js';
import type { Stored } from '../options/records.js';
import type { SubResponse } from '../platform/sub-requests.js';
import { guardedBy, itemRouteOf, type Route } from '../routes/routes.js';
import type { RecordGuards } from '../service/readable-records.js';
import { pathOfRoute, metadataOf } from './plan.js';

type Params = Readonly<Record<string, string>>;

/** The response of guards that cannot be asked. */
const CLOSED: SubResponse = { status: 403, body: 'Forbidden resource' };

/** Whether anything but the generator's own guard decides who may use a route. */
export function isGuarded(controller: Type<object>, route: Route, { crudPlatform }: HttpRequest): boolean {
  return crudPlatform.hasGlobalEnhancers() || hasGuards(controller, route);
}

function hasGuards(controller: Type<object>, { handler }: Route): boolean {
  const method = (controller.prototype as Record<string, object>)[handler];
  return [controller, method].some((guarded) => {
    const guards = (guarded && Reflect.getMetadata(GUARDS_METADATA, guarded)) as
      readonly unknown[] | undefined;
    return guards?.some((guard) => guard !== TenantGuard);
  });
}

/**
 * Asks the guards of a route whether the sender of another request may use it. They see a request to their own route, by
 * default with an empty body.
 *
 * @returns the response to a sender who may not; a guard that throws is one that rejects
 */
export async function rejectionOf(
  controller: Type<object>,
  route: Route,
  { params, body }: { readonly params: Params; readonly body?: unknown },
  request: HttpRequest,
): Promise<SubResponse | undefined> {
  const { reply } = contextOf(request);
  const path = pathOfRoute(controller, route);
  const isKnown = (path.match(/(?<=:)\w+/g) ?? []).every((name) => name in params);
  if (!reply || !isKnown) return CLOSED;
  const guardCheck = { isPassed: false };
  const sent = {
    path,
    params,
    body: route.body === undefined ? undefined : (body ?? {}),
    context: { guardCheck },
  };
  const response = await request.crudPlatform.subRequests.send(controller, route, sent, request, reply);
  if (guardCheck.isPassed) return undefined;
  // A filter may have turned the rejection into something else.
  return response.status < 400 ? CLOSED : response;
}

/** Path parameters without an identifier, which tell when a guard looks for one. */
function withoutId(params: Params, onLook: () => void): Params {
  const get = () => {
    onLook();
    return undefined;
  };
  // Not enumerable, since Nest itself looks at all that are.
  return Object.defineProperty({ ...params }, 'id', { get }) as Params;
}

/** Decides by the guards of the route that gets one record, which are asked about each. */
export class GetGuards implements RecordGuards {
  constructor(private readonly controller: Type<object>) {}

  get areDeclared(): boolean {
    return [...metadataOf(this.controller).routes.values()].some(
      (route) => ['list', 'get'].includes(route.handler) && hasGuards(this.controller, route),
    );
  }

  async permitted<T extends Stored<object>>(
    scope: TenantScope,
    records: readonly T[],
    asParents = false,
  ): Promise<readonly T[]> {
    const { request } = scope;
    // Code decides for itself.
    if (!request) return records;
    const metadata = metadataOf(this.controller);
    const route = itemRouteOf(metadata, 'get');
    if (!route) return asParents ? records : [];
    if (!isGuarded(this.controller, route, request)) return records;
    const { parent } = metadata.definition;
    const permitted: T[] = [];
    for (const record of records) {
      // There may be thousands of records.
      await nextTurn();
      const values = record as unknown as Record<string, unknown>;
      const above = parent && { [parent.param]: String(values[parent.field as string]) };
      const params = { ...scope.params, ...above, id: String(record._id) };
      if (!(await rejectionOf(this.controller, route, { params }, request))) permitted.push(record);
    }
    return permitted;
  }
}

/**
 * Whether the guards of other routes have to be asked about a route. Guards of the class and the application see a list
 * themselves, and are asked again only if the route of the record has something of its own, such as roles.
 */
export function inheritsGuards(controller: Type<object>, { handler }: Route): boolean {
  const metadata = metadataOf(controller);
  const { definition } = metadata;
  const methods = controller.prototype as Record<string, object>;
  return guardedBy(definition, handler).some((kind) => {
    const route = itemRouteOf(metadata, kind);
    if (!route || handler === 'restore') return route !== undefined;
    const { guards = [], decorators = [] } = definition.routes[kind] ?? {};
    return (
      guards.length + decorators.length + Reflect.getMetadataKeys(methods[route.handler] ?? {}).length > 0
    );
  });
}

/** Lets those list and count who may get a record, and those restore who may update and delete it. */
@Injectable()
export class InheritedGuard implements CanActivate {
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const request = http.getRequest<HttpRequest>();
    contextOf(request).reply = http.getResponse<HttpResponse>();
    const controller = context.getClass();
    const metadata = metadataOf(controller);
    const params = request.params as Params;
    for (const kind of guardedBy(metadata.definition, handlerName(context))) {
      const route = itemRouteOf(metadata, kind);
      if (!route || !isGuarded(controller, route, request)) continue;
      let isAboutRecord = false;
      const told = 'id' in params ? params : withoutId(params, () => (isAboutRecord = true));
      const response = await rejectionOf(controller, route, { params: told }, request);
      // Guards that decide record by record cannot decide about all of them.
      const rejection = isAboutRecord ? CLOSED : response;
      if (!rejection) continue;
      const isUnidentified = (rejection.body as { code?: unknown }).code === 'UNAUTHENTICATED';
      if (isUnidentified) throw new UnauthenticatedError(needsToken(isolationOf(context)));
      throw new HttpException(rejection.body as object, rejection.status);
    }
    return true;
  }
}
