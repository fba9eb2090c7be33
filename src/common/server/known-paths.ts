import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import findMyWay from 'find-my-way';
import { type DomainError, MethodNotAllowedError, PathNotFoundError, pathOf } from '../errors/index.js';
import type { RequestLine } from '../request/index.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** The error of a request whose method or path has no route. */
    pathErrorOf: (request: RequestLine) => DomainError;
  }
}

/** A path pattern, such as `/todos/:id`, and its methods. */
interface KnownPath {
  readonly pattern: string;
  readonly methods: Set<string>;
}

/**
 * Answers a method that a path does not have with 405 and `Allow` (RFC 9110, section 15.5.6), and a path that does not exist
 * with 404.
 */
export class KnownPaths {
  private readonly paths = new Map<string, KnownPath>();
  /** Fastify does not expose its own router. This one has the same patterns, and so the same precedence. */
  private readonly router = findMyWay({ maxParamLength: Number.MAX_SAFE_INTEGER });

  constructor(private readonly fastify: FastifyInstance) {
    fastify.addHook('onRoute', ({ url, method, config }) => {
      // Those for any path, such as that of CORS for preflights, tell nothing of the others.
      if (!config?.rejects && !url.includes('*')) this.add(url, [method].flat());
    });
    fastify.decorate('pathErrorOf', (request: RequestLine) => this.errorOf(request));
  }

  /**
   * Gives each path a rejecting route for the methods that it does not have: without it, `DELETE /todos/count`
   * would be a `DELETE /todos/:id`. Call it once every route exists.
   */
  rejectOthers(): void {
    const methods = new Set([...this.paths.values()].flatMap((path) => [...path.methods]));
    for (const path of this.paths.values()) {
      const others = [...methods].filter((name) => !path.methods.has(name));
      if (others.length === 0) continue;
      this.fastify.route({
        method: others as HTTPMethods[],
        url: path.pattern,
        exposeHeadRoute: false,
        config: { rejects: true },
        // A route's own hook runs after the global ones of its kind, and before the body is read.
        onRequest: (request, reply, done) => this.respond(request, reply, done),
        handler: () => undefined,
      });
    }
  }

  /** Answers a request that has no route: OPTIONS with what the path can do, anything else with an error. */
  respond(request: FastifyRequest, reply: FastifyReply, done: (error: Error) => void): void {
    const methods = request.method === 'OPTIONS' && this.methodsOf(request);
    if (!methods) return done(this.errorOf(request));
    // RFC 9110, section 9.3.7; RFC 10008, section 3.
    reply.header('Allow', [...new Set([...methods, 'OPTIONS'])].sort().join(', '));
    if (methods.has('QUERY')) reply.header('Accept-Query', '"application/json"');
    void reply.status(204).send();
  }

  /** The error of a request whose method or path has no route. */
  errorOf(request: RequestLine): DomainError {
    const methods = this.methodsOf(request);
    // A path may have the method in another version.
    return !methods || methods.has(request.method)
      ? new PathNotFoundError()
      : new MethodNotAllowedError(request.method, [...methods].sort());
  }

  private methodsOf(request: RequestLine): ReadonlySet<string> | undefined {
    const found = this.router.find('GET', pathOf(request));
    // Nest serves no route with an empty parameter: /todos/ is not a todo.
    if (!found || Object.values(found.params).includes('')) return undefined;
    return (found.store as KnownPath).methods;
  }

  private add(pattern: string, methods: string[]): void {
    // A parameter may have one name for one method, and another for the next.
    let count = 0;
    const key = pattern.replaceAll(/:\w+/g, () => `:p${count++}`);
    let path = this.paths.get(key);
    if (!path) {
      this.paths.set(key, (path = { pattern, methods: new Set() }));
      this.router.on('GET', key, () => undefined, path);
    }
    for (const method of methods) path.methods.add(method);
  }
}
