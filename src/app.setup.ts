import fastifyCors from '@fastify/cors';
import type { DynamicModule, Type } from '@nestjs/common';
import { ApplicationConfig, NestFactory, Reflector } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { type ApiDescription, postsAndTodosApi, useExplorer } from './app.explorer.js';
import { ProblemFilter } from './common/errors/index.js';
import {
  type ConnectionLimits,
  createHttpAdapter,
  createLog,
  PinoLogger,
  StrictQueryInterceptor,
  type TransferLimits,
  useLoadControl,
  useRequestMetrics,
  useSecurityHeaders,
} from './common/http/index.js';
import { Metrics } from './common/metrics/index.js';
import type { Environment } from './config/index.js';

export type { ApiDescription };

/** Options of an application that differ from those of the service. */
export interface AppOptions {
  /** Where its log goes. @default the standard output */
  log?: ReturnType<typeof createLog>;
  /** Texts of its explorer. @default those of posts and todos */
  api?: ApiDescription;
  /** How long its clients may take, and how many whole lists are read at a time. */
  limits?: Partial<ConnectionLimits & TransferLimits>;
}

/** Creates the application of a root module, configured and ready to listen. The tests use it, too. */
export async function createApp(
  root: Type<unknown> | DynamicModule,
  environment: Environment,
  { log, api, limits }: AppOptions = {},
): Promise<NestFastifyApplication> {
  const app = await createBareApp(root, environment, { log, limits });
  if (environment.docs === 'on') useExplorer(app, api ?? postsAndTodosApi(environment));
  return app;
}

/** Creates the same without its explorer. */
export async function createBareApp(
  root: Type<unknown> | DynamicModule,
  environment: Environment,
  { log = createLog(environment.logLevel), limits }: Omit<AppOptions, 'api'> = {},
): Promise<NestFastifyApplication> {
  const adapter = createHttpAdapter({
    bodyLimit: environment.bodyLimit,
    trustedProxies: environment.trustedProxies,
    logger: log,
    limits,
  });
  const app = await NestFactory.create<NestFastifyApplication>(root, adapter, {
    logger: new PinoLogger(log),
    bodyParser: false,
    abortOnError: false,
  });
  await configureApp(app, environment);
  return app;
}

/** Everything that all features share: security headers, CORS, bounds of load, figures, strict queries, and errors. */
async function configureApp(app: NestFastifyApplication, environment: Environment): Promise<void> {
  useSecurityHeaders(app.getHttpAdapter().getInstance());
  if (environment.corsOrigins.length > 0) {
    await app.register(fastifyCors, {
      origin: environment.corsOrigins,
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
  const turns = await useLoadControl(fastify, environment);
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
