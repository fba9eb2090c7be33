import { Injectable, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import { HttpAdapterHost, ModuleRef, ModulesContainer } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { Callers } from '../../tenancy/index.js';
import { getCrudServiceToken } from '../crud.tokens.js';
import { isolationOfHandler } from '../routes/routes.js';
import { AuditTrails } from '../audit/audit-trails.js';
import { CrudRegistry } from '../service/crud.registry.js';
import { CrudService } from '../service/crud.service.js';
import { DIRECT_HANDLERS, type DirectLane, directLane } from './direct-lane.js';
import { Exchange } from './exchange.js';
import { type DirectKey, directKeysOf, resourceOf } from './resource-metadata.js';
import { isWhollyGenerated } from './wholly-generated.js';

/** Opens a direct lane for every wholly generated route of an application that permits it. */
@Injectable()
export class DirectLanes implements OnApplicationBootstrap {
  private readonly controllers: Type<object>[] = [];
  private readonly exchange: Exchange;

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly providers: ModuleRef,
    private readonly modules: ModulesContainer,
    registry: CrudRegistry,
    trails: AuditTrails,
  ) {
    this.exchange = new Exchange(registry, trails);
  }

  add(controller: Type<object>): void {
    this.controllers.push(controller);
  }

  /** Nest has made its chains by now: what is added to them later has no effect there either. */
  onApplicationBootstrap(): void {
    // A worker, and a module under test, may have no server.
    const adapter = this.adapterHost.httpAdapter as HttpAdapterHost['httpAdapter'] | undefined;
    const routes = adapter?.getInstance<Partial<FastifyInstance>>().directRoutes;
    // Whoever wants to be told of each route is told by Nest.
    if (!routes?.permitted() || adapter?.getOnRouteTriggered()) return;
    for (const controller of this.controllers) {
      const service = this.isShared(controller) && this.serviceOf(controller);
      if (!service) continue;
      for (const key of directKeysOf(controller)) {
        const lane = this.laneOf(controller, key, service);
        if (lane) routes.open(key, directLane(lane));
      }
    }
  }

  /** The lane of a route; undefined if anybody but the generator has a part in it. */
  private laneOf(
    controller: Type<object>,
    { handler, method }: DirectKey,
    service: CrudService<object, object>,
  ): DirectLane | undefined {
    const resource = resourceOf(controller);
    const route = resource.routes.get(handler);
    const verbOf = (of: object) => (of as Record<string, unknown>)[DIRECT_HANDLERS[handler].verb];
    const isOverridden = verbOf(service) !== verbOf(CrudService.prototype);
    if (!route || isOverridden || !isWhollyGenerated(controller, handler)) return undefined;
    const { httpAdapter } = this.adapterHost;
    return {
      resource,
      route: { ...route, handler },
      method,
      host: { service },
      isolation: (query) => isolationOfHandler(resource, handler, query as Record<string, unknown>),
      callers: this.providers.get(Callers, { strict: false }),
      exchange: this.exchange,
      send: (reply, body) => httpAdapter.reply(reply, body) as unknown,
    };
  }

  /** Whether all requests have one instance of a controller. */
  private isShared(controller: Type<object>): boolean {
    const found = [...this.modules.values()].map(({ controllers }) => controllers.get(controller));
    return found.some((wrapper) => wrapper?.isDependencyTreeStatic());
  }

  /** The service that every request shares; undefined if each has its own. */
  private serviceOf(controller: Type<object>): CrudService<object, object> | undefined {
    const { definition } = resourceOf(controller);
    try {
      return this.providers.get(getCrudServiceToken(definition.entity), { strict: false });
    } catch {
      return undefined;
    }
  }
}
