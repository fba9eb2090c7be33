import { createHash } from 'node:crypto';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { UnsupportedContentCodingError, UnsupportedMediaTypeError } from '../errors/index.js';
import { hasBody } from './body-timeout.js';
import { NDJSON_TYPE } from './carried-body.js';
import { checkHarmless, parseJson } from './json-body.js';
import { nextTimeSlice } from './load/time-slices.js';
import { readBody, streamBody } from './read-body.js';

const JSON_TYPE = 'application/json';
export const MERGE_PATCH_TYPE = 'application/merge-patch+json';

/** A body from this size on takes longer to read than a short request. Unit: bytes. */
const LARGE = 16_384;

declare module 'fastify' {
  interface FastifyRequest {
    /** SHA-256 of the body's bytes as they arrived, if the request has an `Idempotency-Key` and a body. */
    bodyHash?: string;
  }
}

/**
 * type/subtype with parameters (RFC 9110, section 8.3.1). The first group is the type, the second the
 * parameters.
 */
const MEDIA_TYPE =
  /^([\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+)((?: *; *[\w-]+=(?:[\w.+-]+|"[^"\\]*"))*) *;?$/;

/** The content types that a body may have. JSON Merge Patch (RFC 7396) is for updates. */
function bodyTypesOf({ method, routeOptions }: FastifyRequest): readonly string[] {
  if (routeOptions.config.carriedBody === 'lines') return [NDJSON_TYPE];
  return method === 'PATCH' ? [MERGE_PATCH_TYPE, JSON_TYPE] : [JSON_TYPE];
}

/**
 * Reads JSON bodies strictly: the declared type, well-formed UTF-8, no `__proto__`. An absent body is
 * undefined.
 */
export function useBodyParsing(fastify: FastifyInstance): void {
  fastify.addHook('preParsing', (request, _reply, _payload, done) => {
    done(mediaTypeFault(request) ?? codingFault(request));
  });
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser([JSON_TYPE, MERGE_PATCH_TYPE], (request, payload, done) => {
    readBody(payload, request.routeOptions.bodyLimit, (error, body) => {
      if (!body || body.length === 0) return done(error, undefined);
      const parse = () => {
        try {
          done(null, valueOf(body, request));
        } catch (error) {
          done(error as Error);
        }
      };
      if (body.length < LARGE) parse();
      else void nextTimeSlice().then(parse);
    });
  });
  // No limit for the whole body: the handler reads it line by line as it arrives.
  fastify.addContentTypeParser(NDJSON_TYPE, (_request, payload, done) => done(null, streamBody(payload)));
  // Only an empty body reaches this parser with another type; its type does not matter.
  fastify.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
}

/** @throws MalformedRequestError */
function valueOf(body: Buffer, request: FastifyRequest): unknown {
  if (request.headers['idempotency-key'] !== undefined) {
    request.bodyHash = createHash('sha256').update(body).digest('hex');
  }
  const value = parseJson(body);
  if (request.routeOptions.config.carriedBody === undefined) checkHarmless(value);
  return value;
}

function mediaTypeFault(request: FastifyRequest): Error | undefined {
  const contentType = request.headers['content-type'];
  if (request.is404 || (!hasBody(request) && contentType === undefined)) return undefined;
  const allowed = bodyTypesOf(request);
  const match = MEDIA_TYPE.exec(contentType ?? '');
  const type = match?.[1]?.toLowerCase();
  const charset = /charset="?([^";]+)/i
    .exec(match?.[2] ?? '')?.[1]
    ?.trim()
    .toLowerCase();
  const fits = type !== undefined && allowed.includes(type) && (charset === undefined || charset === 'utf-8');
  // Without a body, a content type describes nothing; some clients send it with every request.
  return fits || !hasBody(request) ? undefined : new UnsupportedMediaTypeError(allowed);
}

function codingFault(request: FastifyRequest): Error | undefined {
  const coding = request.headers['content-encoding'];
  const fits = coding === undefined || coding.toLowerCase() === 'identity' || !hasBody(request);
  return fits ? undefined : new UnsupportedContentCodingError();
}
