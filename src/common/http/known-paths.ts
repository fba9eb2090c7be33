import type { FastifyInstance, HTTPMethods } from 'fastify';
import findMyWay from 'find-my-way';
import { type DomainError, MethodNotAllowedError, PathNotFoundError, pathOf } from '../errors/index.js';
import type { HttpRequest } from '../platform/index.js';
import type { Transfers } from './transfers.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** The error of a request whose method or path has no route. */
    pathErrorOf: (request: HttpRequest) => DomainError;
    /** The long responses of this process. */
    transfers: Transfers;
  }
}

/** A path pattern, such as `/todos/:id`, and its methods. */
interface KnownPath {
  readonly pattern: string;
  readonly methods: Set<string>;
}

/**
 * Answers a method that a path does not have with 405 and `Allow` (RFC 9110, section 15.5.6), and a path that
 * does not exist with 404. Requests with a route are not affected: paths are looked up only after Fastify has
 * found no route.
 */
export class KnownPaths {
  private readonly paths = new Map<string, KnownPath>();
  /** The methods of all paths. */
  private readonly methods = new Set<string>();
  /** Fastify does not expose its own router. This one has the same patterns, and so the same precedence. */
  private readonly router = findMyWay({ maxParamLength: Number.MAX_SAFE_INTEGER });

  constructor(private readonly fastify: FastifyInstance) {
    fastify.addHook('onRoute', ({ url, method, config }) => {
      if (!config?.refuses) this.add(url, [method].flat());
    });
    fastify.decorate('pathErrorOf', (request: HttpRequest) => this.errorOf(request));
    // After every onRequest hook: CORS answers preflights there, and also adds its headers to these errors.
    fastify.addHook('preParsing', (request, _reply, _payload, done) => {
      done(request.is404 ? this.errorOf(request) : undefined);
    });
  }

  /**
   * Gives each path a rejecting route for the methods that a more general path would otherwise serve: without
   * it, `DELETE /todos/count` would be a `DELETE /todos/:id`. Call it once every route exists.
   */
  refuseShadowed(): void {
    for (const path of this.paths.values()) {
      const method = [...this.methods].filter((name) => !path.methods.has(name) && this.isServed(name, path));
      if (path.pattern.includes('*') || method.length === 0) continue;
      this.fastify.route({
        method: method as HTTPMethods[],
        url: path.pattern,
        exposeHeadRoute: false,
        config: { refuses: true },
        // A route's own hook runs after the global ones of its kind, and before the body is read.
        onRequest: (request, _reply, done) => done(notAllowed(request.method, path)),
        handler: () => undefined,
      });
    }
  }

  private add(pattern: string, methods: string[]): void {
    const path = this.paths.get(pattern) ?? { pattern, methods: new Set() };
    this.paths.set(pattern, path);
    // Another version of a route has the same path and method.
    for (const name of methods.filter((method) => !path.methods.has(method))) {
      path.methods.add(name);
      this.methods.add(name);
      this.router.on(name as findMyWay.HTTPMethod, pattern, () => undefined, path);
    }
  }

  /** The error of a request whose method or path has no route. */
  private errorOf(request: HttpRequest): DomainError {
    const found = [...this.methods].flatMap((method) => this.find(method, pathOf(request)) ?? []);
    const [path] = found.filter(({ pattern }) => !pattern.includes('*')).sort(bySpecificity);
    // A path may have the method in another version.
    return path && !path.methods.has(request.method) ? notAllowed(request.method, path) : this.notFound();
  }

  /** The error of a path that has no route. */
  notFound(): PathNotFoundError {
    return new PathNotFoundError(this.paths.has('/docs'));
  }

  /** Whether a path would answer a method that it does not have itself. */
  private isServed(method: string, { pattern }: KnownPath): boolean {
    return this.find(method, pattern.replaceAll(/:[^/]+/g, '~')) !== undefined;
  }

  private find(method: string, path: string): KnownPath | undefined {
    const route = this.router.find(method as findMyWay.HTTPMethod, path);
    // Nest serves no route with an empty parameter: /todos/ is not a todo.
    return route && Object.values(route.params).every((value) => value !== '')
      ? (route.store as KnownPath)
      : undefined;
  }
}

/** A literal segment comes before a parameter: `/todos/count` is a path of its own, not an id. */
function bySpecificity(a: KnownPath, b: KnownPath): number {
  const [these, those] = [a.pattern.split('/'), b.pattern.split('/')];
  const differing = these.findIndex((segment, i) => segment !== those[i]);
  return Number(these[differing]?.startsWith(':') ?? 0) - Number(those[differing]?.startsWith(':') ?? 0);
}

function notAllowed(method: string, path: KnownPath): MethodNotAllowedError {
  return new MethodNotAllowedError(method, [...path.methods].sort());
}
