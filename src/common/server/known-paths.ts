import type { FastifyInstance } from 'fastify';
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
 * with 404. Otherwise, `DELETE /todos/count` would be a `DELETE /todos/:id`. Call it before routes are added.
 */
export function useKnownPaths(fastify: FastifyInstance): void {
  const known = new Map<string, Set<string>>();
  // Fastify does not expose its own router. This one has the same patterns, and so the same precedence.
  const router = findMyWay({ maxParamLength: Number.MAX_SAFE_INTEGER });
  fastify.addHook('onRoute', ({ url, method }) => {
    // Those for any path, such as that of CORS for preflights, tell nothing of the others.
    if (url.includes('*')) return;
    // A parameter may have one name for one method, and another for the next.
    let count = 0;
    const pattern = url.replaceAll(/:\w+/g, () => `:p${count++}`);
    const methods = known.get(pattern) ?? new Set();
    if (!known.has(pattern)) router.on('GET', pattern, () => undefined, methods);
    known.set(pattern, methods);
    for (const name of [method].flat()) methods.add(name);
  });
  const methodsOf = (request: RequestLine): ReadonlySet<string> | undefined => {
    const found = router.find('GET', pathOf(request));
    // Nest serves no route with an empty parameter: /todos/ is not a todo.
    return !found || Object.values(found.params).includes('') ? undefined : (found.store as Set<string>);
  };
  const errorOf = (request: RequestLine): DomainError => {
    const methods = methodsOf(request);
    // A path may have the method in another version.
    return !methods || methods.has(request.method)
      ? new PathNotFoundError()
      : new MethodNotAllowedError(request.method, [...methods].sort());
  };
  fastify.decorate('pathErrorOf', errorOf);
  // After every onRequest hook: CORS answers preflights there, and also adds its headers to these errors.
  fastify.addHook('preParsing', (request, reply, _payload, done) => {
    const { is404, method } = request;
    const methods = methodsOf(request);
    if (!is404 && (!methods || methods.has(method))) return done();
    if (!methods || method !== 'OPTIONS') return done(errorOf(request));
    // RFC 9110, section 9.3.7; RFC 10008, section 3.
    reply.header('Allow', [...new Set([...methods, 'OPTIONS'])].sort().join(', '));
    if (methods.has('QUERY')) reply.header('Accept-Query', '"application/json"');
    void reply.status(204).send();
  });
}
