import { SetMetadata } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';

/**
 * How a body carries the bodies of other requests. `operations`: as parts of one JSON value, each of which is
 * checked separately. `lines`: as a stream of lines of JSON, read as it arrives.
 */
export type CarriedBody = 'operations' | 'lines';

declare module 'fastify' {
  interface FastifyContextConfig {
    carriedBody?: CarriedBody;
    compressed?: boolean;
    isStrict?: boolean;
    underLoad?: 'taken' | 'stream';
    /** Whether the route exists only to reject a method. */
    refuses?: boolean;
  }
}

const CARRIED_BODY = 'http:carried-body';

/** Declares that the body of a route carries the bodies of other requests. */
export const CarriesBodies = (form: CarriedBody): MethodDecorator => SetMetadata(CARRIED_BODY, form);

/** How the body of a handler's requests carries others; undefined if it carries none. */
export function carriedBodyOf(handler: object): CarriedBody | undefined {
  return Reflect.getMetadata(CARRIED_BODY, handler) as CarriedBody | undefined;
}

/** Has the bodies of a route read strictly, as those of resources are. */
export const StrictBody = (): MethodDecorator => RouteConfig({ isStrict: true });

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
