import { setMaxListeners } from 'node:events';
import {
  type AbstractHttpAdapter,
  ApplicationConfig,
  type HttpAdapterHost,
  type ModuleRef,
} from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { BODY_LIMIT, type Platform } from '../../request/index.js';
import { useExpress } from './express.js';
import { useFastify } from './fastify.js';
import { SubRequests } from './sub-requests.js';

/** What the platform does not decide. */
export type PlatformParts = Pick<Platform, 'hasGlobalEnhancers' | 'bodyLimit' | 'closing' | 'subRequests'>;

/** Prepares the server of an application, before its routes exist. @returns ends long requests, when it is told to stop */
export function usePlatform(adapter: AbstractHttpAdapter, moduleRef: ModuleRef): () => void {
  const config = configOf(moduleRef);
  const hasGlobalEnhancers = () =>
    [
      config.getGlobalGuards(),
      config.getGlobalRequestGuards(),
      config.getGlobalInterceptors(),
      config.getGlobalRequestInterceptors(),
    ].some(({ length }) => length > 0);
  const type = adapter.getType();
  const closing = new AbortController();
  // Each running import adds a listener.
  setMaxListeners(0, closing.signal);
  const close = () => closing.abort();
  const parts = {
    closing: closing.signal,
    subRequests: new SubRequests(moduleRef),
    hasGlobalEnhancers,
    bodyLimit: bodyLimitOf({ httpAdapter: adapter }),
  };
  if (type === 'express') useExpress(adapter.getInstance(), parts);
  else if (type === 'fastify') useFastify(adapter.getInstance(), parts, close);
  else throw new Error(`CrudModule runs on Express and on Fastify, and this application runs on ${type}.`);
  return close;
}

/** Maximum size of a body: that of a Fastify; otherwise 1 MiB. Unit: bytes. */
export function bodyLimitOf({ httpAdapter }: Partial<HttpAdapterHost>): number {
  const server = httpAdapter?.getInstance<Partial<FastifyInstance> | undefined>();
  return server?.initialConfig?.bodyLimit ?? BODY_LIMIT;
}

/** The global guards, interceptors and filters of the application, for which Nest has no other public place. */
export function configOf(moduleRef: ModuleRef): ApplicationConfig {
  return moduleRef['container'].applicationConfig ?? new ApplicationConfig();
}
