import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { Route } from '../routes/routes.js';

/** A request to a route of a resource. */
export interface ResourceRequest {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  readonly definition: CrudDefinition;
  /** Undefined for a route of plain Nest decorators. */
  readonly route: Route | undefined;
}
