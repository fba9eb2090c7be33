import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { PageQuery } from '../query/page-query.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The page that a list asks for; set by the CrudInterceptor, undefined for every record. */
    crudPage?: PageQuery;
  }
}

/** Injects the page that the request of a list asks for. */
export const CurrentPage = createParamDecorator(
  (_data: unknown, context: ExecutionContext): PageQuery | undefined =>
    context.switchToHttp().getRequest<FastifyRequest>().crudPage,
);
