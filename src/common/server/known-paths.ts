import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import findMyWay from 'find-my-way';
import { type DomainError, MethodNotAllowedError, PathNotFoundError, pathOf } from '../errors/index.js';
import type { RequestLine } from '../request/index.js';

declare module 'fastify' {
  interface FastifyInstance {
    /** The error of a request whose method or path has no route. */
    pathErrorOf: (request: RequestLine) => DomainError;
  }
}

/**
 * Answers a method that a path does not have with 405 and `Allow` (RFC 9110, section 15.5.6), and a path that does not exist
 * with 404. Otherwise, `DELETE /todos/count` would be a `DELETE /todos/:id`.
 */
export class KnownPaths {
  /** Fastify does not expose its own router. This one has the same patterns, and so the same precedence. */
  private readonly router = findMyWay({ maxParamLength: Number.MAX_SAFE_INTEGER });
  private readonly methods = new Map<string, Set<string>>();

  constructor(fastify: FastifyInstance) {
    fastify.addHook('onRoute', ({ url, method }) => {
      // Those for any path, such as that of CORS for preflights, tell nothing of the others.
      if (!url.includes('*')) this.add(url, [method].flat());
    });
    fastify.decorate('pathErrorOf', (request: RequestLine) => this.errorOf(request));
    // After every onRequest hook: CORS answers preflights there, and also adds its headers to these errors.
    fastify.addHook('preParsing', (request, reply, _payload, done) => this.check(request, reply, done));
  }

  /** Answers a request that has no route: OPTIONS with what the path can do, anything else with an error. */
  private check(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void {
    const { is404, method } = request;
    const methods = this.methodsOf(request);
    if (!is404 && (!methods || methods.has(method))) return done();
    if (!methods || method !== 'OPTIONS') return done(this.errorOf(request));
    // RFC 9110, section 9.3.7; RFC 10008, section 3.
    reply.header('Allow', [...new Set([...methods, 'OPTIONS'])].sort().join(', '));
    if (methods.has('QUERY')) reply.header('Accept-Query', '"application/json"');
    void reply.status(204).send();
  }

  /** The error of a request whose method or path has no route. */
  private errorOf(request: RequestLine): DomainError {
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
    return found.store as Set<string>;
  }

  private add(pattern: string, methods: string[]): void {
    // A parameter may have one name for one method, and another for the next.
    let count = 0;
    const key = pattern.replaceAll(/:\w+/g, () => `:p${count++}`);
    let known = this.methods.get(key);
    if (!known) {
      this.methods.set(key, (known = new Set()));
      this.router.on('GET', key, () => undefined, known);
    }
    for (const method of methods) known.add(method);
  }
}
