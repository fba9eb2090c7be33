import fastifyCors from '@fastify/cors';
import type { DynamicModule, Type } from '@nestjs/common';
import { ApplicationConfig, NestFactory, Reflector } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ProblemFilter } from '../errors/index.js';
import {
  type ConnectionLimits,
  createHttpAdapter,
  createLog,
  type LoadOptions,
  PinoLogger,
  StrictQueryInterceptor,
  type TransferLimits,
  useLoadControl,
  useRequestMetrics,
  useSecurityHeaders,
} from '../http/index.js';
import { Metrics } from '../metrics/index.js';
import { type ApiDescription, useExplorer } from './explorer.js';

/** Settings that every application has. */
interface AppSettings extends LoadOptions {
  /** Origins whose pages may call the API. @default none */
  readonly corsOrigins: string[];
  /** @default "info" */
  readonly logLevel: 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';
  /** Largest request body. Unit: bytes. @default 1048576 */
  readonly bodyLimit: number;
  /** Proxies that may say by `X-Forwarded-For` where a request comes from: addresses, or ranges such as 10.0.0.0/8. @default none */
  readonly trustedProxies: string[];
}

/** Options of {@link createCrudApp}. */
export interface CrudAppOptions extends Partial<AppSettings> {
  /** Texts of the explorer at `/docs` and of the document at `/docs/openapi.json`; `false` serves neither. @default { title: 'API' } */
  readonly docs?: ApiDescription | false;
  /** Where the log goes. @default the standard output */
  readonly log?: ReturnType<typeof createLog>;
  /** How long clients may take, and how many whole lists are read at a time. */
  readonly limits?: Partial<ConnectionLimits & TransferLimits>;
}

/** The defaults of the settings; those of the environment are the same. */
export const APP_DEFAULTS: AppSettings = {
  corsOrigins: [],
  logLevel: 'info',
  bodyLimit: 1_048_576,
  trustedProxies: [],
  maxRunningRequests: 128,
  maxWaitMs: 750,
  maxEventLoopDelayMs: 2_000,
  rateLimitTenant: 600_000,
  rateLimitAddress: 600_000,
  rateLimitBadTokens: 600,
};

/**
 * Creates the application of a root module that imports `CrudModule.forRoot(…)`, on Fastify, ready to listen:
 *
 * ```ts
 * const app = await createCrudApp(AppModule);
 * await app.listen(3000);
 * ```
 *
 * Every error is a problem (RFC 9457), bodies and queries are read strictly, and load has bounds; controllers of your own have the same.
 */
export async function createCrudApp(
  root: Type<unknown> | DynamicModule,
  { docs = { title: 'API' }, log, limits, ...given }: CrudAppOptions = {},
): Promise<NestFastifyApplication> {
  const settings = { ...APP_DEFAULTS, ...defined(given) };
  const logger = log ?? createLog(settings.logLevel);
  const adapter = createHttpAdapter({
    bodyLimit: settings.bodyLimit,
    trustedProxies: settings.trustedProxies,
    logger,
    limits,
  });
  const app = await NestFactory.create<NestFastifyApplication>(root, adapter, {
    logger: new PinoLogger(logger),
    bodyParser: false,
    abortOnError: false,
  });
  await configureApp(app, settings);
  if (docs) useExplorer(app, docs);
  return app;
}

/** The options that have a value: one that is undefined, such as an unset variable, leaves the default. */
function defined<T extends object>(options: T): T {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

/** Everything that all features share: security headers, CORS, bounds of load, figures, strict queries, and errors. */
async function configureApp(app: NestFastifyApplication, settings: AppSettings): Promise<void> {
  useSecurityHeaders(app.getHttpAdapter().getInstance());
  if (settings.corsOrigins.length > 0) {
    await app.register(fastifyCors, {
      origin: settings.corsOrigins,
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: [
        'ETag',
        'Idempotency-Replayed',
        'Link',
        'Location',
        'Preference-Applied',
        'Retry-After',
        'WWW-Authenticate',
        'X-Request-Id',
      ],
      maxAge: 600,
      // Otherwise an OPTIONS without an origin gets an error that is no problem+json.
      strictPreflight: false,
    });
  }
  // After CORS, so that pages can read refusals, too.
  const fastify = app.getHttpAdapter().getInstance();
  const turns = await useLoadControl(fastify, settings);
  useRequestMetrics(fastify, app.get(Metrics, { strict: false }), turns);
  app.useGlobalInterceptors(new StrictQueryInterceptor(app.get(Reflector)));
  app.useGlobalFilters(new ProblemFilter());
  app.getHttpAdapter().getInstance().directRoutes.permitted = () => hasOwnChainOnly(app);
}

/**
 * Whether nothing but the above is global: whoever adds a guard, an interceptor, a pipe or a filter, before the application
 * is initialized as Nest has it, has it run for every request.
 */
function hasOwnChainOnly(app: NestFastifyApplication): boolean {
  // Nest gives what is global away nowhere else. If it is not there any more, nothing is permitted.
  const { config } = app as unknown as { config?: ApplicationConfig };
  if (!(config instanceof ApplicationConfig)) return false;
  const others = [
    ...config.getGlobalGuards(),
    ...config.getGlobalRequestGuards(),
    ...config.getGlobalInterceptors().filter((one) => one.constructor !== StrictQueryInterceptor),
    ...config.getGlobalRequestInterceptors(),
    ...config.getGlobalPipes(),
    ...config.getGlobalRequestPipes(),
    ...config.getGlobalFilters().filter((one) => one.constructor !== ProblemFilter),
    ...config.getGlobalRequestFilters(),
    ...config.getGlobalPreRequestHooks(),
  ];
  return others.length === 0;
}
