import { Logger } from '@nestjs/common';
import { errorCodes, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { PathNotFoundError, sendProblem } from '../../errors/index.js';
import {
  bodyFault,
  CarriedRequests,
  checkHarmless,
  discardRest,
  linesOf,
  MERGE_PATCH_TYPE,
  NDJSON_TYPE,
  parseJson,
  readBody,
  type ServedRoute,
  streamBody,
  Transfers,
} from '../../http/index.js';
import type { HttpRequest, Platform } from '../../platform/index.js';
import type { PlatformParts } from './platform.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** See {@link Platform.beforeSend}. */
    settleBody?: (body: unknown) => Promise<unknown>;
  }
  interface FastifyContextConfig {
    /** The route itself. */
    served?: ServedRoute;
  }
}

/** Prepares a Fastify: that of `createCrudApp`, which reads bodies and limits load itself, or any other. */
export function useFastify(fastify: FastifyInstance, parts: PlatformParts): () => void {
  const isOurs = fastify.hasDecorator('transfers');
  const closing = new AbortController();
  const close = () => closing.abort();
  fastify.addHook('preClose', (done) => done(void close()));
  const routes: ServedRoute[] = [];
  fastify.addHook('onRoute', (route) => {
    const { url: pattern, method, handler, constraints, config } = route;
    if (config?.refuses) return;
    for (const name of [method].flat()) {
      const served = { method: name, pattern, handler, constraints };
      routes.push(served);
      route.config = { ...config, served };
    }
  });
  const errorOf = isOurs ? fastify.pathErrorOf : () => new PathNotFoundError(false);
  const platform: Platform = {
    ...parts,
    ...(isOurs && { carryOutInTurn: fastify.carryOutInTurn }),
    transfers: isOurs ? fastify.transfers : new Transfers(),
    carriedRequests: new CarriedRequests(fastify, () => routes, servedBy, closing.signal, errorOf),
    elapsedMs: (response) => (response as FastifyReply).elapsedTime,
    beforeSend: (request, _response, settle) => {
      (request as FastifyRequest).settleBody = settle;
    },
  };
  fastify.decorateRequest('platform', { getter: () => platform });
  fastify.addHook('onSend', ({ settleBody }, _reply, body, done) => {
    if (!settleBody) return done(null, body);
    settleBody(body).then((settled) => done(null, settled), done);
  });
  if (!isOurs) readBodies(fastify, closing.signal);
  return close;
}

function servedBy(request: HttpRequest): ServedRoute | undefined {
  return (request as FastifyRequest).routeOptions.config.served;
}

/** Reads the bodies of resources as other types than JSON, too, and rejects harmful ones. Other routes stay as they are. */
function readBodies(fastify: FastifyInstance, closing: AbortSignal): void {
  const logger = new Logger('Problem');
  fastify.addHook('onRoute', (route) => {
    // Only errors from before the handler.
    if (route.config?.isStrict)
      route.errorHandler = (error, request, reply) => sendProblem(error, request, reply, logger);
  });
  const isStrict = ({ routeOptions }: FastifyRequest) => routeOptions.config.isStrict === true;
  fastify.addHook('preParsing', (request, _reply, body, done) => {
    const { carriedBody } = request.routeOptions.config;
    done(isStrict(request) ? bodyFault(request, carriedBody) : undefined, body);
  });
  fastify.addHook('preValidation', (request, _reply, done) => {
    const { carriedBody } = request.routeOptions.config;
    if (isStrict(request) && carriedBody === undefined) checkHarmless(request.body);
    if (carriedBody === 'lines') request.body = linesOf(request.body);
    done();
  });
  fastify.addHook('onResponse', (request, _reply, done) => {
    if (isStrict(request)) discardRest(request.raw, request.body, closing);
    done();
  });
  const foreign = (type: string) => new errorCodes.FST_ERR_CTP_INVALID_MEDIA_TYPE(type);
  if (!fastify.hasContentTypeParser(MERGE_PATCH_TYPE)) {
    fastify.addContentTypeParser(MERGE_PATCH_TYPE, (request, body, done) => {
      if (!isStrict(request)) return done(foreign(MERGE_PATCH_TYPE));
      readBody(body, request.routeOptions.bodyLimit, (error, bytes) => {
        try {
          done(error, bytes && parseJson(bytes));
        } catch (fault) {
          done(fault as Error);
        }
      });
    });
  }
  if (!fastify.hasContentTypeParser(NDJSON_TYPE)) {
    fastify.addContentTypeParser(NDJSON_TYPE, (request, body, done) => {
      if (isStrict(request)) done(null, streamBody(body));
      else done(foreign(NDJSON_TYPE));
    });
  }
}
