import { createHash } from 'node:crypto';
import type { Socket } from 'node:net';
import { parse as parseForm } from 'node:querystring';
import { errorCodes, type FastifyInstance, type FastifyRequest } from 'fastify';
import {
  checkHarmless,
  bodyFault,
  hasBody,
  JSON_TYPE,
  MERGE_PATCH_TYPE,
  NDJSON_TYPE,
  nextTimeSlice,
  parseJson,
  readBody,
  streamBody,
} from '../http/index.js';

const FORM_TYPE = 'application/x-www-form-urlencoded';

/** A body from this size on takes longer to read than a short request. Unit: bytes. */
const LARGE = 16_384;

declare module '../platform/index.js' {
  interface RequestState {
    /** SHA-256 of the body's bytes as they arrived, if the request has an `Idempotency-Key` and a body. */
    bodyHash?: string;
  }
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

/** @throws MalformedRequestError */
function valueOf(body: Buffer, request: FastifyRequest): unknown {
  if (request.headers['idempotency-key'] !== undefined) {
    request.bodyHash = createHash('sha256').update(body).digest('hex');
  }
  const value = parseJson(body);
  if (request.routeOptions.config.carriedBody === undefined) checkHarmless(value);
  return value;
}

/**
 * Gives up requests whose body does not arrive in time. Node's own limit would also apply to streams of
 * lines, which may take as long as they like while they make progress.
 *
 * @param limitMs how long a whole body may take. Unit: milliseconds.
 */
export function useBodyTimeout(
  fastify: FastifyInstance,
  limitMs: number,
  giveUp: (socket: Socket) => void,
): void {
  const timers = new WeakMap<FastifyRequest, NodeJS.Timeout>();
  fastify.addHook('preParsing', (request, _reply, _payload, done) => {
    const isStream = request.routeOptions.config.carriedBody === 'lines';
    if (!isStream && hasBody(request)) timers.set(request, setTimeout(giveUp, limitMs, request.raw.socket));
    done();
  });
  const arrived = (request: FastifyRequest) => clearTimeout(timers.get(request));
  fastify.addHook('preValidation', (request, _reply, done) => done(void arrived(request)));
  fastify.addHook('onResponse', (request, _reply, done) => done(void arrived(request)));
  fastify.addHook('onRequestAbort', (request, done) => done(void arrived(request)));
}
