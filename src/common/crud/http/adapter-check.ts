import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';

/** Names of the platforms, by the types of Nest's adapters. */
const PLATFORMS: Readonly<Record<string, string>> = { express: 'Express', fastify: 'plain Fastify' };

/**
 * Stops the start if the application does not use the server of `createCrudApp`. Resources need that server
 * to read bodies, to send streams, and to give the server's own errors the form of all others.
 */
@Injectable()
export class AdapterCheck {
  /** @throws Error that says what to write in main.ts */
  constructor({ httpAdapter }: HttpAdapterHost) {
    // A worker, and a module under test, may have no server.
    const adapter = httpAdapter as HttpAdapterHost['httpAdapter'] | undefined;
    const platform = PLATFORMS[adapter?.getType() ?? ''];
    if (!adapter || !platform) return;
    if (adapter.getInstance<{ transfers?: unknown }>().transfers !== undefined) return;
    throw new Error(
      `CrudModule runs on Fastify as createCrudApp sets it up, and this application runs on ${platform}. ` +
        'In main.ts, replace NestFactory.create(AppModule) by createCrudApp(AppModule).',
    );
  }
}
