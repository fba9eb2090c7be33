import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Answers a request by itself; undefined leaves it to Nest's handler, as if nobody had looked at it. */
export type DirectHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<void> | undefined;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a {@link DirectHandler} for this route is opened by. */
    directKey?: object;
  }
  interface FastifyInstance {
    directRoutes: DirectRoutes;
  }
}

/**
 * Routes whose handlers may answer before Nest's chain of guards, interceptors, pipes and filters begins. A handler is
 * responsible for doing what the chain would have done. Requests that others carry always take the chain.
 */
export class DirectRoutes {
  /** Whether the application has nothing in its chain that the handlers do not know. @default nobody says so */
  permitted: () => boolean = () => false;
  private readonly handlers = new Map<object, DirectHandler>();

  constructor(fastify: FastifyInstance) {
    fastify.decorate('directRoutes', { getter: (): never => this as never });
    // Only now has Fastify all of its hooks.
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
        // Not returned: Fastify would take its end for that of the answer.
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
 * Whether somebody's hook or serializer of Fastify is given the values of answers, of which a direct handler sends the text.
 * Fastify keeps them under symbols; if they are not there any more, somebody may.
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
