import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { ListQuery } from '../query/list-query.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The query of the request; set by the CrudInterceptor for handlers that read. */
    crudQuery?: ListQuery;
  }
}

/** Injects the query of the request: filter, order, page, fields. */
export const CurrentQuery = createParamDecorator(
  (_data: unknown, context: ExecutionContext): ListQuery =>
    context.switchToHttp().getRequest<FastifyRequest>().crudQuery ?? {},
);
