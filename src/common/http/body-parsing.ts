import { createHash } from 'node:crypto';
import { parse as parseForm } from 'node:querystring';
import { SetMetadata } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify';
import { UnsupportedContentCodingError, UnsupportedMediaTypeError } from '../errors/index.js';
import type { HttpRequest } from '../platform/index.js';
import { checkHarmless, nextTimeSlice, parseJson } from './json-body.js';
import { hasBody, readBody, streamBody } from './read-body.js';

/**
 * How a body carries the bodies of other requests. `operations`: as parts of one JSON value, each of which is
 * checked separately. `lines`: as a stream of lines of JSON (https://github.com/ndjson/ndjson-spec), read as
 * it arrives.
 */
export type CarriedBody = 'operations' | 'lines';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The same for Fastify. */
    carriedBody?: CarriedBody;
    /** Whether the route exists only to reject a method. */
    refuses?: boolean;
  }
}

const CARRIED_BODY = 'http:carried-body';

/** Media type of lines of JSON. */
export const NDJSON_TYPE = 'application/x-ndjson';

/** Declares that the body of a route carries the bodies of other requests. */
export const CarriesBodies = (form: CarriedBody): MethodDecorator => SetMetadata(CARRIED_BODY, form);

/** How the body of a handler's requests carries others; undefined if it carries none. */
export function carriedBodyOf(handler: object): CarriedBody | undefined {
  return Reflect.getMetadata(CARRIED_BODY, handler) as CarriedBody | undefined;
}

const JSON_TYPE = 'application/json';
const FORM_TYPE = 'application/x-www-form-urlencoded';
export const MERGE_PATCH_TYPE = 'application/merge-patch+json';

/** A body from this size on takes longer to read than a short request. Unit: bytes. */
const LARGE = 16_384;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether bodies are read strictly; see {@link StrictBody}. */
    isStrict?: boolean;
  }
}

declare module '../platform/index.js' {
  interface RequestState {
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
function bodyTypesOf({ method }: HttpRequest, carried: CarriedBody | undefined): readonly string[] {
  if (carried === 'lines') return [NDJSON_TYPE];
  return method === 'PATCH' ? [MERGE_PATCH_TYPE, JSON_TYPE] : [JSON_TYPE];
}

/**
 * Reads the bodies of strict routes as JSON: the declared type, well-formed UTF-8, no `__proto__`. An absent body is
 * undefined. Other routes have what Nest reads on any Fastify: JSON, forms and text, and the types that a plugin adds.
 */
export function useBodyParsing(fastify: FastifyInstance): void {
  fastify.addHook('preParsing', (request, _reply, _payload, done) => {
    done(isStrict(request) ? bodyFault(request, request.routeOptions.config.carriedBody) : undefined);
  });
  // Whatever the parser of some type makes of no bytes.
  fastify.addHook('preValidation', (request, _reply, done) => {
    if (isStrict(request) && !hasBody(request)) request.body = undefined;
    done();
  });
  const parseLeniently = fastify.getDefaultJsonParser('error', 'error');
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser([JSON_TYPE, MERGE_PATCH_TYPE], (request, payload, done) => {
    readBody(payload, request.routeOptions.bodyLimit, (error, body) => {
      if (!body || body.length === 0) return done(error, undefined);
      if (!isStrict(request)) return void parseLeniently(request, body.toString(), done);
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
  fastify.addContentTypeParser('text/plain', { parseAs: 'string' }, (_request, body, done) =>
    done(null, body),
  );
  fastify.addContentTypeParser(FORM_TYPE, { parseAs: 'string' }, (_request, body, done) => {
    done(null, parseForm(body as string));
  });
  // No limit for the whole body: the handler reads it line by line as it arrives.
  fastify.addContentTypeParser(NDJSON_TYPE, (_request, payload, done) => done(null, streamBody(payload)));
  // The type of an empty body does not matter.
  fastify.addContentTypeParser('*', (request, _payload, done) => {
    done(hasBody(request) ? new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE() : null, undefined);
  });
}

function isStrict({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.isStrict === true;
}

/** Has the bodies of a route read strictly, as those of resources are. */
export const StrictBody = (): MethodDecorator => RouteConfig({ isStrict: true });

/** @throws MalformedRequestError */
function valueOf(body: Buffer, request: FastifyRequest): unknown {
  if (request.headers['idempotency-key'] !== undefined) {
    request.bodyHash = createHash('sha256').update(body).digest('hex');
  }
  const value = parseJson(body);
  if (request.routeOptions.config.carriedBody === undefined) checkHarmless(value);
  return value;
}

/** Why a body cannot be read: its media type, or its coding. Without a body, a type describes nothing; some clients send it always. */
export function bodyFault(request: HttpRequest, carried: CarriedBody | undefined): Error | undefined {
  if (!hasBody(request)) return undefined;
  const contentType = request.headers['content-type'];
  const allowed = bodyTypesOf(request, carried);
  const match = MEDIA_TYPE.exec(contentType ?? '');
  const type = match?.[1]?.toLowerCase();
  const charset = /charset="?([^";]+)/i
    .exec(match?.[2] ?? '')?.[1]
    ?.trim()
    .toLowerCase();
  const fits = type !== undefined && allowed.includes(type) && (charset === undefined || charset === 'utf-8');
  if (!fits) return new UnsupportedMediaTypeError(allowed);
  const coding = request.headers['content-encoding'];
  const isPlain = coding === undefined || coding.toLowerCase() === 'identity';
  return isPlain ? undefined : new UnsupportedContentCodingError();
}
