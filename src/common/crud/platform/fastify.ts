import { errorCodes, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { PathNotFoundError, sendProblem } from '../../errors/index.js';
import {
  bodyError,
  checkHarmless,
  discardRest,
  hasBody,
  parseJson,
  readJson,
  streamBody,
  StreamSlots,
} from '../../http/index.js';
import type { Platform } from '../../request/index.js';
import type { PlatformParts } from './platform.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** See {@link Platform.beforeSend}. */
    crudSettleBody?: (body: unknown) => Promise<unknown>;
  }
}

/** Prepares a Fastify: that of `createCrudApp`, which reads bodies and limits load itself, or any other. */
export function useFastify(fastify: FastifyInstance, parts: PlatformParts, close: () => void): void {
  const isOurs = fastify.hasDecorator('streamSlots');
  fastify.addHook('preClose', (done) => done(void close()));
  const platform: Platform = {
    ...parts,
    streamSlots: isOurs ? fastify.streamSlots : new StreamSlots(),
    pathErrorOf: isOurs ? fastify.pathErrorOf : () => new PathNotFoundError(),
    elapsedMs: (response) => (response as FastifyReply).elapsedTime,
    beforeSend: (request, _response, settle) => {
      (request as FastifyRequest).crudSettleBody = settle;
    },
  };
  fastify.decorateRequest('crudPlatform', { getter: () => platform });
  fastify.addHook('onSend', ({ crudSettleBody }, _reply, body, done) => {
    if (!crudSettleBody) return done(null, body);
    crudSettleBody(body).then((settled) => done(null, settled), done);
  });
  readBodies(fastify, isOurs);
  // Otherwise, the server closes the connection.
  if (!isOurs)
    fastify.addHook('onResponse', (request, _reply, done) => {
      if (isStrict(request)) discardRest(request.raw, request.body, parts.closing);
      done();
    });
}

/** Stands for a type while Fastify looks for its parser, which the application may have for its own routes, or not. */
const OWN_TYPE = 'application/x-crud-body';
const JSON_TYPES = /^application\/json/i;

function isStrict({ routeOptions }: FastifyRequest): boolean {
  return routeOptions.config.isStrict === true;
}

/** Reads the bodies of resources. @param readsJson whether to read `application/json` in place of the application's parser */
function readBodies(fastify: FastifyInstance, readsJson: boolean): void {
  fastify.addHook('onRoute', (route) => {
    // Only errors from before the handler.
    if (route.config?.isStrict)
      route.errorHandler = (error, request, reply) => sendProblem(error, request, reply);
  });
  const types = new WeakMap<FastifyRequest, string>();
  const restoreType = (request: FastifyRequest) => {
    const type = types.get(request);
    if (type !== undefined) request.raw.headers['content-type'] = type;
  };
  fastify.addHook('preParsing', (request, _reply, body, done) => {
    if (!isStrict(request)) return done(null, body);
    const { headers } = request.raw;
    const type = headers['content-type'];
    const isPlatforms = !readsJson && hasBody(request) && JSON_TYPES.test(type ?? '');
    if (type !== undefined && !isPlatforms) types.set(request, type);
    const error = bodyError(request, request.routeOptions.config.batchBody);
    if (!error && types.has(request)) headers['content-type'] = OWN_TYPE;
    done(error, body);
  });
  fastify.addHook('preValidation', (request, _reply, done) => {
    restoreType(request);
    const { body, routeOptions } = request;
    const isWhole = body !== undefined && routeOptions.config.batchBody === undefined;
    if (!isWhole || !isStrict(request)) return done();
    try {
      checkHarmless((request.body = Buffer.isBuffer(body) ? parseJson(body) : body));
      done();
    } catch (error) {
      done(error as Error);
    }
  });
  fastify.addContentTypeParser(OWN_TYPE, (request, body, done) => {
    if (!types.has(request)) return done(new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE());
    restoreType(request);
    if (request.routeOptions.config.batchBody === 'lines') return done(null, streamBody(body));
    readJson(request, body, request.routeOptions.bodyLimit).then((value) => done(null, value), done);
  });
}
