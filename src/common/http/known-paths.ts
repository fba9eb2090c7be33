import type { FastifyInstance } from 'fastify';
import { MethodNotAllowedError, PathNotFoundError } from '../errors/index.js';

/** A path pattern, split at its slashes, and the methods it has. */
interface KnownPath {
  readonly segments: readonly string[];
  readonly methods: Set<string>;
}

/** Answers a method that a path does not have with 405 and `Allow`, and a path that does not exist with 404. */
export function useKnownPaths(fastify: FastifyInstance): void {
  const known = new Map<string, KnownPath>();
  fastify.addHook('onRoute', ({ url, method }) => {
    const path = known.get(url) ?? { segments: url.split('/'), methods: new Set<string>() };
    for (const name of [method].flat()) path.methods.add(name);
    if (path.methods.has('GET')) path.methods.add('HEAD');
    known.set(url, path);
  });
  // After every onRequest hook: CORS answers preflights there, and adds its headers to these errors, too.
  fastify.addHook('preParsing', (request, _reply, _payload, done) => {
    const path = request.url.split('?', 1)[0] ?? '';
    const match = bestMatch(known.values(), path.split('/'));
    if (!request.is404 && (!match || match.methods.has(request.method))) return done();
    done(
      match && !match.methods.has(request.method)
        ? notAllowed(request.method, match)
        : new PathNotFoundError(),
    );
  });
}

/** A literal segment goes before a parameter: `/todos/count` is a path of its own and no id. */
function bestMatch(paths: Iterable<KnownPath>, segments: readonly string[]): KnownPath | undefined {
  const matches = [...paths].filter(
    (path) =>
      path.segments.length === segments.length &&
      path.segments.every((part, i) => part === segments[i] || (part.startsWith(':') && segments[i] !== '')),
  );
  return matches.find((path) => !path.segments.some((part) => part.startsWith(':'))) ?? matches[0];
}

function notAllowed(method: string, path: KnownPath): MethodNotAllowedError {
  return new MethodNotAllowedError(method, [...path.methods].sort());
}
