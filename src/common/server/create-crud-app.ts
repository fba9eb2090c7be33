import fastifyCors from '@fastify/cors';
import type { DynamicModule, Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { ProblemFilter } from '../errors/index.js';
import type { StreamLimits } from '../http/index.js';
import { Metrics } from '../metrics/index.js';
import { BODY_LIMIT } from '../request/index.js';
import type { ConnectionLimits } from './connections.js';
import { type ApiDescription, useSwaggerUi } from './swagger-ui.js';
import { createHttpAdapter } from './http-adapter.js';
import { LOAD_LIMITS, useLoadControl } from './load-control.js';
import { createLog, PinoLogger } from './log.js';
import { useRequestLog } from './request-log.js';

/** Settings that every application has, and their defaults, which the environment's settings share. */
export const APP_DEFAULTS = {
  ...LOAD_LIMITS,
  /** Origins whose pages may call the API. @default none */
  corsOrigins: [] as string[],
  /** @default "info" */
  logLevel: 'info' as 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent',
  /** Maximum size of a request body. Unit: bytes. @default 1048576 */
  bodyLimit: BODY_LIMIT,
  /** Proxies whose `X-Forwarded-For` is trusted: addresses, or ranges such as 10.0.0.0/8. @default none */
  trustedProxies: [] as string[],
};

/** Options of {@link createCrudApp}. */
export interface CrudAppOptions extends Partial<Readonly<typeof APP_DEFAULTS>> {
  /** Texts of the explorer at `/docs` and its document; `false` disables both. @default { title: 'API' } */
  readonly docs?: ApiDescription | false;
  /** Where the log goes. @default the standard output */
  readonly log?: ReturnType<typeof createLog>;
  /** How long clients may take, and how many whole lists they may read at a time. */
  readonly limits?: Partial<ConnectionLimits & StreamLimits>;
}

/**
 * Creates the application of a root module that imports `CrudModule.forRoot(…)`, on Fastify, ready to listen:
 *
 * ```ts
 * const app = await createCrudApp(AppModule);
 * await app.listen(3000);
 * ```
 *
 * Every error is a problem (RFC 9457), and load is limited, for your own controllers as well.
 */
export async function createCrudApp(
  root: Type<unknown> | DynamicModule,
  { docs = { title: 'API' }, log, limits, ...given }: CrudAppOptions = {},
): Promise<NestFastifyApplication> {
  const settings = { ...APP_DEFAULTS, ...defined(given) };
  const logger = log ?? createLog(settings.logLevel);
  const adapter = createHttpAdapter(settings, logger, limits);
  const app = await NestFactory.create<NestFastifyApplication>(root, adapter, {
    logger: new PinoLogger(logger),
    abortOnError: false,
  });
  const fastify = adapter.getInstance<FastifyInstance>();
  if (settings.corsOrigins.length > 0) {
    await app.register(fastifyCors, {
      origin: settings.corsOrigins,
      methods: ['GET', 'HEAD', 'QUERY', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders:
        'ETag, Idempotency-Replayed, Link, Location, Preference-Applied, Retry-After, WWW-Authenticate, X-Request-Id',
      maxAge: 600,
      // Otherwise an OPTIONS request without an origin gets an error that is not problem+json.
      strictPreflight: false,
    });
  }
  // After CORS, so that pages can read rejections, too.
  const slots = await useLoadControl(fastify, settings, limits);
  useRequestLog(fastify, app.get(Metrics, { strict: false }), slots);
  app.useGlobalFilters(new ProblemFilter());
  if (docs) useSwaggerUi(app, docs);
  return app;
}

/** The options that have a value. An undefined one, such as an unset variable, keeps the default. */
function defined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}
