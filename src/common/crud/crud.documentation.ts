import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiExtraModels,
  ApiHeader,
  ApiOperation,
  ApiParam,
  ApiQuery,
  ApiResponse,
  type ApiResponseOptions,
  getSchemaPath,
} from '@nestjs/swagger';
import type { Schema } from 'mongoose';
import { ApiProblems, type ErrorCode } from '../errors/index.js';
import { CountResult, CreatedResult, DeletedResult, UpdatedResult } from './crud.classes.js';
import type { CrudDefinition } from './crud.definition.js';
import { CRUD_POLICY, type CrudHandler } from './crud.policy.js';
import { PAGE_LIMITS } from './query/page-query.js';

interface RouteFacts {
  isolated: boolean;
  summary?: string;
  answersNotFound?: boolean;
}

const ID_EXAMPLE = '665f1c2ab7e3a90d4c8b4567';

/** Everything that the OpenAPI document says about a handler. */
export function documentRoute<Entity extends object, Input extends object>(
  handler: CrudHandler,
  definition: CrudDefinition<Entity, Input>,
  response: Type<unknown> | undefined,
  facts: RouteFacts,
): MethodDecorator {
  const policy = CRUD_POLICY[handler];
  const { classes, label, name } = definition;
  return applyDecorators(
    ApiOperation({
      operationId: `${name}_${handler}`,
      summary: facts.summary ?? policy.summary(label, name),
    }),
    ...(policy.takesId ? [ApiIdParam(label)] : []),
    ...(policy.query.length > 0 ? [ApiPaging()] : []),
    ...(handler === 'create' ? [ApiCreateBody(classes.create)] : []),
    ...(handler === 'update' ? [ApiUpdateBody(classes.update)] : []),
    response
      ? ApiResponse({ status: policy.status, type: response, description: 'Done' })
      : ApiSuccess(handler, definition.path, classes),
    ApiProblems(...problemsOf(handler, facts, hasUniqueIndex(definition.schema))),
  );
}

function problemsOf(
  handler: CrudHandler,
  { isolated, answersNotFound = true }: RouteFacts,
  hasUniqueValues: boolean,
): ErrorCode[] {
  const { takesId, takesBody } = CRUD_POLICY[handler];
  return [
    'VALIDATION_FAILED',
    ...(takesBody ? (['MALFORMED_REQUEST', 'BODY_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const) : []),
    ...(takesBody && hasUniqueValues ? (['DUPLICATE_VALUE'] as const) : []),
    ...(takesId ? (['INVALID_ID'] as const) : []),
    ...(takesId && answersNotFound ? (['RECORD_NOT_FOUND'] as const) : []),
    ...(isolated
      ? (['UNAUTHENTICATED', 'INVALID_TOKEN', 'TENANT_REQUIRED', 'AUTHENTICATION_UNAVAILABLE'] as const)
      : []),
    'DATABASE_UNAVAILABLE',
    'INTERNAL_ERROR',
  ];
}

function hasUniqueIndex(schema: Schema): boolean {
  return schema.indexes().some(([, options]) => options.unique === true);
}

/** Documents the id in the path. */
export function ApiIdParam(label: string): MethodDecorator {
  return ApiParam({
    name: 'id',
    description: `Identifier of the ${label.toLowerCase()}`,
    schema: { type: 'string', pattern: '^[0-9a-fA-F]{24}$', example: ID_EXAMPLE },
  });
}

/** Documents `offset` and `limit`. */
export function ApiPaging(): MethodDecorator {
  const { offset, limit } = PAGE_LIMITS;
  return applyDecorators(
    ApiQuery({
      name: 'offset',
      required: false,
      description: 'Records to skip. With it or `limit` the answer is a page; without both, every record.',
      schema: { type: 'integer', ...offset },
    }),
    ApiQuery({
      name: 'limit',
      required: false,
      description: 'Most records of the page.',
      schema: { type: 'integer', ...limit },
    }),
  );
}

/** Documents the body of a create and the preference that it heeds. */
export function ApiCreateBody(type: Type<unknown>): MethodDecorator {
  return applyDecorators(
    ApiBody({ type, required: true }),
    ApiHeader({
      name: 'Prefer',
      required: false,
      description: '`return=representation` (RFC 7240) answers with the whole record.',
      schema: { type: 'string', example: 'return=representation' },
    }),
  );
}

/** Documents the body of an update, in both of its content types. */
export function ApiUpdateBody(type: Type<unknown>): MethodDecorator {
  return applyDecorators(
    ApiConsumes('application/json', 'application/merge-patch+json'),
    ApiBody({
      type,
      required: true,
      description:
        'JSON Merge Patch (RFC 7396): only the supplied fields change; null removes an optional one.',
    }),
  );
}

/** The classes that a success answers with. */
interface AnswerClasses {
  readonly record: Type<unknown>;
  readonly page: Type<unknown>;
}

/** Documents what a handler answers when all is well. */
export function ApiSuccess(
  handler: CrudHandler,
  path: string,
  { record: type, page }: AnswerClasses,
): MethodDecorator {
  const record = { $ref: getSchemaPath(type) };
  const etag = { ETag: header('The revision of the record', '"0"') };
  const links = header(
    'On a page: first, prev, next and last page (RFC 8288)',
    `</${path}?offset=0&limit=20>; rel="first"`,
  );
  const json = (schema: object) => ({ 'application/json': { schema } });
  const success = {
    list: {
      description: 'Every record, newest first; with `offset` or `limit`, one page',
      headers: { Link: links },
      content: json({ oneOf: [{ type: 'array', items: record }, { $ref: getSchemaPath(page) }] }),
    },
    count: { description: 'How many records there are', type: CountResult },
    get: { description: 'The record', type, headers: etag },
    create: {
      description: 'Created; the whole record where the request prefers it',
      headers: {
        ...etag,
        Location: header('Path of the new record', `/${path}/${ID_EXAMPLE}`),
        'Preference-Applied': header('The preference that was honoured (RFC 7240)', 'return=representation'),
      },
      content: json({ anyOf: [{ $ref: getSchemaPath(CreatedResult) }, record] }),
    },
    update: { description: 'Updated', type: UpdatedResult },
    del: { description: 'Deleted', type: DeletedResult },
  }[handler] as ApiResponseOptions;
  return applyDecorators(
    ApiExtraModels(type, page, CreatedResult),
    ApiResponse({ status: CRUD_POLICY[handler].status, ...success }),
  );
}

function header(description: string, example: string) {
  return { description, schema: { type: 'string' as const, example } };
}
