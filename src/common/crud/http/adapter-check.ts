import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

/** Platforms by the types that Nest's adapters have. */
const PLATFORMS: Readonly<Record<string, string>> = { express: 'Express', fastify: 'plain Fastify' };

/**
 * Stops the start of an application whose server the resources cannot run on: they read bodies, send streams, and have errors of the
 * server's own in one form, by the server of `createCrudApp`.
 */
@Injectable()
export class AdapterCheck {
  /** @throws Error that says what to write in main.ts */
  constructor({ httpAdapter }: HttpAdapterHost) {
    // A worker, and a module under test, may have no server.
    const adapter = httpAdapter as HttpAdapterHost['httpAdapter'] | undefined;
    const platform = PLATFORMS[adapter?.getType() ?? ''];
    if (!adapter || !platform) return;
    if (adapter.getInstance<{ directRoutes?: unknown }>().directRoutes !== undefined) return;
    throw new Error(
      `CrudModule runs on Fastify as createCrudApp sets it up, and this application runs on ${platform}. ` +
        'In main.ts, replace NestFactory.create(AppModule) by createCrudApp(AppModule).',
    );
  }
}
