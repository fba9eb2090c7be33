import type { FastifyInstance, FastifyRequest } from 'fastify';
import { errorMessages, MalformedRequestError, UnsupportedMediaTypeError } from '../errors/index.js';

const JSON_TYPE = 'application/json';
const MERGE_PATCH_TYPE = 'application/merge-patch+json';

/** type/subtype with parameters (RFC 9110, section 8.3.1); the first group is the type, the second the parameters. */
const MEDIA_TYPE =
  /^([\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+)((?: *; *[\w-]+=(?:[\w.+-]+|"[^"\\]*"))*) *;?$/;

/** Names of nested fields that libraries take for more than data: `_bsontype` would choose a type of the database's. */
const HARMFUL_NAMES = ['constructor', '_bsontype'];

/** Deepest nesting of a body. Unit: levels of objects and arrays. */
const MAX_DEPTH = 32;

/** The content types that a method's body may have. JSON Merge Patch (RFC 7396) is for changes. */
function bodyTypesOf(method: string): readonly string[] {
  return method === 'PATCH' ? [MERGE_PATCH_TYPE, JSON_TYPE] : [JSON_TYPE];
}

/** Reads JSON bodies, strictly: the declared type, well-formed UTF-8, no `__proto__`; an absent body is undefined. */
export function useBodyParsing(fastify: FastifyInstance): void {
  fastify.addHook('preParsing', (request, _reply, _payload, done) => done(mediaTypeFault(request)));
  fastify.removeAllContentTypeParsers();
  const parse = fastify.getDefaultJsonParser('error', 'ignore');
  fastify.addContentTypeParser(
    [JSON_TYPE, MERGE_PATCH_TYPE],
    { parseAs: 'buffer' },
    (request, body, done) => {
      if (body.length === 0) return done(null, undefined);
      const text = decodeUtf8(body as Buffer);
      if (text === undefined) return done(malformed());
      parse(request, text, (error, value) => {
        if (error) done(malformed());
        else if (!isHarmless(value)) done(new MalformedRequestError(errorMessages.harmfulJson));
        else done(null, value);
      });
    },
  );
  // Only a body of no bytes gets here in another type; it says nothing, whatever its type.
  fastify.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined));
}

function mediaTypeFault(request: FastifyRequest): Error | undefined {
  const hasBody =
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length']) > 0;
  const contentType = request.headers['content-type'];
  if (request.is404 || (!hasBody && contentType === undefined)) return undefined;
  const allowed = bodyTypesOf(request.method);
  const match = MEDIA_TYPE.exec(contentType ?? '');
  const type = match?.[1]?.toLowerCase();
  const charset = /charset="?([^";]+)/i
    .exec(match?.[2] ?? '')?.[1]
    ?.trim()
    .toLowerCase();
  const fits = type !== undefined && allowed.includes(type) && (charset === undefined || charset === 'utf-8');
  // A content type without a body describes nothing; some clients send it with every request.
  return fits || !hasBody ? undefined : new UnsupportedMediaTypeError(allowed);
}

/**
 * Whether a value can be walked and copied by libraries that recurse into it and ask for its `constructor`. Without
 * recursion itself, since what it guards against is depth.
 */
function isHarmless(value: unknown): boolean {
  const rest: { value: unknown; depth: number }[] = [{ value, depth: 0 }];
  for (let next = rest.pop(); next; next = rest.pop()) {
    const { value: current, depth } = next;
    if (typeof current !== 'object' || current === null) continue;
    // At the top an unknown field is refused by its name, whatever that is.
    if (depth > MAX_DEPTH) return false;
    if (depth > 0 && HARMFUL_NAMES.some((name) => Object.hasOwn(current, name))) return false;
    for (const child of Object.values(current)) rest.push({ value: child, depth: depth + 1 });
  }
  return true;
}

/** Undefined if the bytes are not UTF-8: a lenient decoder would store other characters than those sent. */
function decodeUtf8(body: Buffer): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch {
    return undefined;
  }
}

function malformed(): MalformedRequestError {
  return new MalformedRequestError(errorMessages.malformedJson);
}
