import {
  type CallHandler,
  type ExecutionContext,
  Injectable,
  type NestInterceptor,
  StreamableFile,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { catchError, mergeMap, type Observable, throwError } from 'rxjs';
import { DuplicateValueError } from '../errors/index.js';
import type { CrudDefinition } from './crud.definition.js';
import type { Stored } from './crud-options.interface.js';
import type { CrudHandler } from './crud.policy.js';
import { etagOf } from './etag.js';
import { streamJsonArray } from './json-array.stream.js';
import { prefersRepresentation } from './prefer.js';
import { present } from './present.js';
import { Page } from './query/page.js';

/** Metadata key under which a handler keeps its {@link CrudRouteMetadata}. */
export const CRUD_ROUTE = 'crud:route';

/** What a generated route knows of itself. */
export interface CrudRouteMetadata {
  readonly handler: CrudHandler;
  readonly definition: CrudDefinition<object, object>;
}

type Presenter = (
  result: never,
  definition: CrudDefinition<object, object>,
  http: { request: FastifyRequest; reply: FastifyReply },
) => unknown;

/** Turns what a handler returns into what the client gets: declared fields alone, and the headers that belong to it. */
@Injectable()
export class CrudInterceptor implements NestInterceptor {
  constructor(private readonly reflector: Reflector) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const { handler, definition } = this.reflector.get<CrudRouteMetadata>(CRUD_ROUTE, context.getHandler());
    const http = {
      request: context.switchToHttp().getRequest(),
      reply: context.switchToHttp().getResponse(),
    };
    const presenter = PRESENTERS[handler];
    return next.handle().pipe(
      catchError((error: unknown) => throwError(() => presentError(error, definition))),
      mergeMap(async (result) => presenter(result as never, definition, http)),
    );
  }
}

const PRESENTERS: Readonly<Record<CrudHandler, Presenter>> = {
  list: (result: AsyncIterable<Stored<object>> | Page<Stored<object>>, definition, { request, reply }) => {
    if (result instanceof Page) {
      reply.header('Link', result.links(pathOf(request)));
      return { results: result.results.map((record) => present(record, definition)), count: result.count };
    }
    return presentAll(result, definition);
  },
  count: (count: number) => ({ count }),
  get: (record: Stored<object>, definition, { reply }) => {
    reply.header('ETag', etagOf(record));
    return present(record, definition);
  },
  create: (record: Stored<object>, definition, { request, reply }) => {
    const _id = record._id.toHexString();
    reply.headers({ Location: `${pathOf(request)}/${_id}`, ETag: etagOf(record), Vary: 'Prefer' });
    if (!prefersRepresentation(request.headers.prefer)) return { _id };
    reply.header('Preference-Applied', 'return=representation');
    return present(record, definition);
  },
  update: (result: object) => result,
  del: (result: object) => result,
};

async function presentAll(
  records: AsyncIterable<Stored<object>>,
  definition: CrudDefinition<object, object>,
) {
  const stream = await streamJsonArray(records, (record) => present(record, definition));
  return new StreamableFile(stream, { type: 'application/json; charset=utf-8' });
}

/** A unique index may span fields that clients know nothing of, such as those that isolate a tenant. */
function presentError(error: unknown, { inputFields }: CrudDefinition<object, object>): unknown {
  return error instanceof DuplicateValueError ? error.among(inputFields.all) : error;
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? '';
}
