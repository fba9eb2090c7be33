import type { DynamicModule, Type } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { useServiceExplorer } from './app.explorer.js';
import { type ApiDescription, createCrudApp, type CrudAppOptions } from './common/server/index.js';
import type { Environment } from './config/index.js';

export type { ApiDescription };

/** Options of an application that differ from those of the service. */
export interface AppOptions extends Pick<CrudAppOptions, 'log' | 'limits'> {
  /** Texts of the explorer. @default those of posts and todos */
  api?: ApiDescription;
}

/** Creates the application of a root module, configured and ready to listen. Also used by the tests. */
export async function createApp(
  root: Type<unknown> | DynamicModule,
  environment: Environment,
  { api, ...options }: AppOptions = {},
): Promise<NestFastifyApplication> {
  const app = await createBareApp(root, environment, options);
  if (environment.docs === 'on') useServiceExplorer(app, environment, api);
  return app;
}

/** Creates the same application without its explorer. */
export function createBareApp(
  root: Type<unknown> | DynamicModule,
  environment: Environment,
  { log, limits }: Omit<AppOptions, 'api'> = {},
): Promise<NestFastifyApplication> {
  return createCrudApp(root, { ...environment, docs: false, log, limits });
}
