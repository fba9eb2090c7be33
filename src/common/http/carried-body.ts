import { RouteConfig } from '@nestjs/platform-fastify';

/**
 * How a body carries the bodies of other requests. `operations`: as parts of one JSON value, each of which is
 * checked separately. `lines`: as a stream of lines of JSON (https://github.com/ndjson/ndjson-spec), read as
 * it arrives.
 */
export type CarriedBody = 'operations' | 'lines';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set by {@link CarriesBodies}. */
    carriedBody?: CarriedBody;
    /** Whether the route exists only to reject a method. */
    refuses?: boolean;
  }
}

/** Media type of lines of JSON. */
export const NDJSON_TYPE = 'application/x-ndjson';

/** Declares that the body of a route carries the bodies of other requests. */
export const CarriesBodies = (form: CarriedBody): MethodDecorator => RouteConfig({ carriedBody: form });
