import { RouteConfig } from '@nestjs/platform-fastify';
import type { BatchBody } from './body.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    batchBody?: BatchBody;
    compressed?: boolean;
    isStrict?: boolean;
    underLoad?: 'taken' | 'stream';
  }
}

/**
 * Declares whether the responses of a route may be compressed if the client accepts it. The generated lists
 * are; others are not. Do not compress responses that contain both a secret and something that a stranger can
 * make the client send: their length would reveal the secret (https://breachattack.com).
 */
export const Compressed = (compressed = true): MethodDecorator => RouteConfig({ compressed });

/**
 * How requests to a route are treated under load. `taken`: always accepted, such as probes. `stream`:
 * rejected like others, but without taking turns and without a deadline.
 */
export const UnderLoad = (underLoad: 'taken' | 'stream'): MethodDecorator => RouteConfig({ underLoad });
