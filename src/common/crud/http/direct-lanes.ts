import { Injectable, type OnApplicationBootstrap, type Type } from '@nestjs/common';
import { HttpAdapterHost, ModulesContainer } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { TenantGuard } from '../../tenancy/index.js';
import { isolationOfHandler } from '../routes/routes.js';
import { AuditTrails } from '../audit/audit-trails.js';
import { CrudRegistry } from '../service/crud.registry.js';
import { CrudService } from '../service/crud.service.js';
import { DIRECT_HANDLERS, type DirectLane, directLane } from './direct-lane.js';
import { Exchange } from './exchange.js';
import { type DirectKey, directKeysOf, resourceOf } from './resource-metadata.js';
import { isWhollyGenerated } from './wholly-generated.js';

/** The parts with which Nest's chain serves the requests of a controller. */
type Served = Pick<DirectLane, 'host' | 'callers'>;

/** Opens a direct lane for every wholly generated route of an application that permits it. */
@Injectable()
export class DirectLanes implements OnApplicationBootstrap {
  private readonly controllers: Type<object>[] = [];
  private readonly exchange: Exchange;

  constructor(
    private readonly adapterHost: HttpAdapterHost,
    private readonly modules: ModulesContainer,
    registry: CrudRegistry,
    trails: AuditTrails,
  ) {
    this.exchange = new Exchange(registry, trails);
  }

  add(controller: Type<object>): void {
    this.controllers.push(controller);
  }

  /** Nest has built its chains by now: later additions have no effect on them either. */
  onApplicationBootstrap(): void {
    // A worker, and a module under test, may have no server.
    const adapter = this.adapterHost.httpAdapter as HttpAdapterHost['httpAdapter'] | undefined;
    const routes = adapter?.getInstance<Partial<FastifyInstance>>().directRoutes;
    // An application that asked to be told of each route is told by Nest.
    if (!routes?.permitted() || adapter?.getOnRouteTriggered()) return;
    for (const controller of this.controllers) {
      const served = this.servedBy(controller);
      if (!served) continue;
      for (const key of directKeysOf(controller)) {
        const lane = this.laneOf(controller, key, served);
        if (lane) routes.open(key, directLane(lane));
      }
    }
  }

  /** The lane of a route; undefined if anything but generated code takes part in it. */
  private laneOf(
    controller: Type<object>,
    { handler, method }: DirectKey,
    served: Served,
  ): DirectLane | undefined {
    const resource = resourceOf(controller);
    const route = resource.routes.get(handler);
    const verbOf = (of: object) => (of as Record<string, unknown>)[DIRECT_HANDLERS[handler].verb];
    const isOverridden = verbOf(served.host.service) !== verbOf(CrudService.prototype);
    if (!route || isOverridden || !isWhollyGenerated(controller, handler)) return undefined;
    const { httpAdapter } = this.adapterHost;
    return {
      resource,
      route: { ...route, handler },
      method,
      ...served,
      isolation: (query) => isolationOfHandler(resource, handler, query as Record<string, unknown>),
      exchange: this.exchange,
      send: (reply, body) => httpAdapter.reply(reply, body) as unknown,
    };
  }

  /**
   * The one instance of a controller that serves all requests, and the callers of its guard, since a module
   * may replace providers with its own. Undefined if there are several instances.
   */
  private servedBy(controller: Type<object>): Served | undefined {
    const [module, ...others] = [...this.modules.values()].filter(({ controllers }) =>
      controllers.has(controller),
    );
    const wrapper = module?.controllers.get(controller);
    const guard: unknown = module?.injectables.get(TenantGuard)?.instance;
    if (others.length > 0 || !wrapper?.isDependencyTreeStatic() || !(guard instanceof TenantGuard))
      return undefined;
    return { host: wrapper.instance as DirectLane['host'], callers: guard.callers };
  }
}
