import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Answers a request itself, or returns undefined to leave the untouched request to Nest's handler. */
export type DirectHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<void> | undefined;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Identifies the route to {@link DirectRoutes.open}. */
    directKey?: object;
  }
  interface FastifyInstance {
    directRoutes: DirectRoutes;
  }
}

/**
 * Routes whose handlers may answer before Nest's chain of guards, interceptors, pipes and filters begins.
 * Such a handler must do everything that the chain would have done. Carried requests always take the chain.
 */
export class DirectRoutes {
  /** Whether the application's chain contains nothing that the handlers do not know. @default never */
  permitted: () => boolean = () => false;
  private readonly handlers = new Map<object, DirectHandler>();

  constructor(fastify: FastifyInstance) {
    fastify.decorate('directRoutes', { getter: (): never => this as never });
    // All of Fastify's hooks are registered only now.
    fastify.addHook('onReady', (done) => {
      if (looksAtValues(fastify)) this.handlers.clear();
      done();
    });
    fastify.addHook('onRoute', (route) => {
      const key = route.config?.directKey;
      if (!key || route.method === 'HEAD') return;
      const { handler } = route;
      const { handlers } = this;
      route.handler = function (request, reply) {
        const served = handlers.get(key)?.(request, reply);
        if (!served) return handler.call(this, request, reply) as unknown;
        // Not returned: Fastify would mistake its end for the end of the answer.
        served.catch((error: unknown) => reply.send(error));
        return undefined;
      };
    });
  }

  /** Lets a handler answer the requests of its route. */
  open(key: object, handler: DirectHandler): void {
    this.handlers.set(key, handler);
  }
}

/**
 * Whether a Fastify hook or serializer would receive the values of answers, since a direct handler sends text
 * instead. Fastify stores them under symbols. If the symbols are missing, the answer is yes, to be safe.
 */
function looksAtValues(fastify: FastifyInstance): boolean {
  const symbols = Object.getOwnPropertySymbols(fastify);
  const kept = (name: string): unknown => {
    const symbol = symbols.find(({ description }) => description === name);
    return symbol && fastify[symbol as unknown as keyof FastifyInstance];
  };
  const hooks = kept('fastify.hooks') as { preSerialization?: readonly unknown[] } | undefined;
  return hooks?.preSerialization?.length !== 0 || kept('fastify.replySerializerDefault') !== null;
}
