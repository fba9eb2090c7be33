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
  /** Whether records may be sent as text, because nothing looks at the answer on its way. @default false */
  readonly asText?: boolean;
}
