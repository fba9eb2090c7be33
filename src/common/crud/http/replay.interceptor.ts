import { setImmediate as nextTurn } from 'node:timers/promises';
import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { Types } from 'mongoose';
import type { Observable } from 'rxjs';
import { errorMessages, toPointer, ValidationError } from '../../errors/index.js';
import { isPlainObject, shorten } from '../../fields/index.js';
import {
  IdempotencyInterceptor,
  IdempotencyKeys,
  isOfSameClaims,
  type KeptAnswer,
} from '../../idempotency/index.js';
import type { HttpRequest, HttpResponse } from '../../platform/index.js';
import { CallerIdentity, handlerName } from '../../tenancy/index.js';
import { type ItemResult, Items } from '../batch/items.js';
import { readOperations } from '../batch/operation.js';
import { isShownByCaller } from '../definition/output.js';
import type { Stored } from '../options/records.js';
import { itemRouteOf, type Route } from '../routes/routes.js';
import { CrudRegistry } from '../service/crud-resource.js';
import { isReadable } from '../service/readable-records.js';
import { resourceOf } from './resource-metadata.js';
import { isGuarded } from './route-guards.js';

/**
 * Carries out a keyed request of a resource once. A replay has of the stored answer what the guards let its
 * sender have now: a key belongs to a tenant and its subject, whose rights may be others by then.
 */
export abstract class ReplayInterceptor extends IdempotencyInterceptor {
  constructor(
    keys: IdempotencyKeys,
    reflector: Reflector,
    identities: CallerIdentity,
    private readonly registry: CrudRegistry,
  ) {
    super(keys, reflector, identities);
  }

  protected override async permitted(answer: KeptAnswer, context: ExecutionContext): Promise<KeptAnswer> {
    const route = resourceOf(context.getClass()).routes.get(handlerName(context));
    if (route?.answer === 'create') return this.permittedCreate(answer, context, route);
    return route?.answer === 'bulk' ? this.permittedBulk(answer, context) : answer;
  }

  /** Without the record, if the sender may not get it, or may see another one in it. */
  private async permittedCreate(answer: KeptAnswer, context: ExecutionContext, route: Route) {
    const headers = new Map(answer.headers);
    if (!headers.delete('preference-applied')) return answer;
    const _id = /[0-9a-f]{24}$/.exec(headers.get('location') ?? '')?.[0];
    if (_id !== undefined && (await this.maySee(_id, answer, context, route))) return answer;
    return { ...answer, headers: [...headers], body: Buffer.from(JSON.stringify({ _id })) };
  }

  private async maySee(id: string, answer: KeptAnswer, context: ExecutionContext, { action }: Route) {
    const http = context.switchToHttp();
    const [request, reply] = [http.getRequest<HttpRequest>(), http.getResponse<HttpResponse>()];
    const { tenantScope: scope } = request;
    const { definition } = resourceOf(context.getClass());
    if (!scope || (isShownByCaller(definition.options.output) && !isOfSameClaims(answer, request)))
      return false;
    request.crudReply = reply;
    const { entity, parent } = definition;
    const above = parent && { [parent.field]: scope.params[parent.param] };
    const record = { _id: new Types.ObjectId(id), ...above } as Stored<object>;
    return isReadable(this.registry.of(entity), scope, action ?? 'get', record);
  }

  /** With a refusal in place of the result of each item that the guards of its own route refuse. */
  private async permittedBulk(answer: KeptAnswer, context: ExecutionContext): Promise<KeptAnswer> {
    const http = context.switchToHttp();
    const [request, reply] = [http.getRequest<HttpRequest>(), http.getResponse<HttpResponse>()];
    // If the operations are read already, this request has just carried them out, guards included.
    if (answer.status >= 400 || !isPlainObject(request.body)) return answer;
    const controller = context.getClass();
    const { routes } = resourceOf(controller);
    const items = new Items(request, reply, controller);
    const refusals = new Map<number, ItemResult>();
    for (const [number, operation] of readOperations(request.body).entries()) {
      if (operation.kind === 'malformed') continue;
      const route = itemRouteOf(routes.values(), operation.kind);
      if (!route || !isGuarded(controller, route, request)) continue;
      await nextTurn();
      const refusal = await items.refusalOf(operation);
      if (refusal) refusals.set(number, items.sent(refusal));
    }
    if (refusals.size === 0) return answer;
    const { results } = JSON.parse(answer.body.toString()) as { results: readonly ItemResult[] };
    const permitted = results.map((result, number) => refusals.get(number) ?? result);
    return { ...answer, body: Buffer.from(JSON.stringify({ results: permitted })) };
  }
}

/** Rejects a body sent to a route that takes none, such as a secret for a rotation. `{}` is accepted. */
@Injectable()
export class NoBodyInterceptor implements NestInterceptor {
  /** @throws ValidationError that names the first member of the body */
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { body } = context.switchToHttp().getRequest<HttpRequest>();
    if (body === undefined || body === null) return next.handle();
    if (!isPlainObject(body)) throw new ValidationError([{ pointer: '', detail: errorMessages.notAnObject }]);
    const [name] = Object.keys(body).map(shorten);
    if (name === undefined) return next.handle();
    throw new ValidationError([{ pointer: toPointer([name]), detail: errorMessages.unknownField(name, []) }]);
  }
}
