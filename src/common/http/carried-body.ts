import { RouteConfig } from '@nestjs/platform-fastify';

/**
 * How a body carries the bodies of other requests: `operations`, as parts of one JSON value, each of which is checked for
 * itself; `lines`, as a stream of lines of JSON (https://github.com/ndjson/ndjson-spec), which is read as it comes.
 */
export type CarriedBody = 'operations' | 'lines';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set by {@link CarriesBodies}. */
    carriedBody?: CarriedBody;
    /** Whether the route is there only to refuse a method. */
    refuses?: boolean;
  }
}

/** Media type of lines of JSON. */
export const NDJSON_TYPE = 'application/x-ndjson';

/** Makes the body of a route one that carries the bodies of others. */
export const CarriesBodies = (form: CarriedBody): MethodDecorator => RouteConfig({ carriedBody: form });
