import { applyDecorators, type Type } from '@nestjs/common';
import {
  ApiBody,
  ApiConsumes,
  ApiExtraModels,
  ApiHeader,
  ApiParam,
  ApiQuery,
  ApiResponse,
  type ApiResponseOptions,
  ApiSecurity,
  getSchemaPath,
} from '@nestjs/swagger';
import { OBJECT_ID_INPUT_PATTERN } from '../../ids/index.js';
import { ARCHIVED } from '../definition/archive.js';
import type { CrudBatchHandler } from '../options/crud-options.js';
import { ARCHIVED_PARAMETER } from '../query/list-query.js';
import { PAGE_LIMITS, type Paging } from '../query/read-query.js';
import type { AnswerKind } from '../routes/routes.js';
import {
  anyOf,
  ArchivedResult,
  CountResult,
  CreatedResult,
  DeletedResult,
  RestoredResult,
  UpdatedResult,
} from './documented-class.js';

const ID_EXAMPLE = '665f1c2ab7e3a90d4c8b4567';

/** Documents an identifier in the path. */
export function ApiIdParam(label: string, name = 'id'): MethodDecorator {
  return ApiParam({
    name,
    description: `Identifier of the ${label.toLowerCase()}, as its create answers with it`,
    // No example: the explorer would send it, and no record has it.
    schema: { type: 'string', pattern: OBJECT_ID_INPUT_PATTERN },
  });
}

/** Documents `offset` and `limit`. */
export function ApiPaging(
  { unpaged, maxLimit }: Paging = { unpaged: true, maxLimit: PAGE_LIMITS.limit.maximum },
): MethodDecorator {
  const { offset, limit } = PAGE_LIMITS;
  const size = Math.min(limit.default, maxLimit);
  const defaultLimit = unpaged
    ? `${size} if only another page parameter is there.`
    : `${size} if it is left out.`;
  const without = unpaged ? ' With it or `limit` the answer is a page; without both, every record.' : '';
  return applyDecorators(
    ApiQuery({
      name: 'offset',
      required: false,
      description: `Number of records to skip.${without}`,
      schema: { type: 'integer', ...offset },
    }),
    ApiQuery({
      name: 'limit',
      required: false,
      description: `Maximum number of records per page. ${defaultLimit}`,
      // A default would apply to every request, even one without page parameters.
      schema: {
        type: 'integer',
        minimum: limit.minimum,
        maximum: maxLimit,
        ...(!unpaged && { default: size }),
      },
    }),
  );
}

/** Name of the security scheme of tokens, as Nest's `addBearerAuth` calls it. */
export const BEARER = 'bearer';

/**
 * Documents `archived`, which is for callers who are known.
 *
 * @param scheme by which they are known, if everybody may use the route otherwise
 */
export function ApiArchived(scheme: string | undefined): MethodDecorator {
  return applyDecorators(
    ApiQuery({
      name: ARCHIVED_PARAMETER,
      required: false,
      description: 'Your archived records: those alone, or beside the live ones. Takes a token.',
      schema: { type: 'string', enum: [...ARCHIVED] },
    }),
    ...(scheme === undefined ? [] : [ApiSecurity({}), ApiSecurity(scheme)]),
  );
}

/** Documents `expand`. */
export function ApiExpand(paths: readonly string[]): MethodDecorator {
  return ApiQuery({
    name: 'expand',
    required: false,
    description:
      'References whose records take the place of their identifiers; a record that you may not read stays an identifier. An answer with it is never a 304.',
    style: 'form',
    explode: false,
    schema: { type: 'array', items: { type: 'string', enum: [...paths] } },
  });
}

/** Documents `If-Match`. */
export function ApiIfMatch(): MethodDecorator {
  return ApiHeader({
    name: 'If-Match',
    required: false,
    description: 'Change the record only if it has one of these ETags (RFC 9110); otherwise 412.',
    schema: { type: 'string', example: '*' },
  });
}

/** Documents `If-None-Match` and its response. */
export function ApiIfNoneMatch(): MethodDecorator {
  return applyDecorators(
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description: 'ETags that the client has (RFC 9110); 304 if the record still has one of them.',
      schema: { type: 'string', example: '"none"' },
    }),
    ApiResponse({
      status: 304,
      description: 'Not modified',
      headers: { ETag: header('The revision of the record', '"0"') },
    }),
  );
}

/** Documents the `Prefer` header of a write. */
export function ApiPrefer(): MethodDecorator {
  return ApiHeader({
    name: 'Prefer',
    required: false,
    description: '`return=representation` (RFC 7240) answers with the whole record.',
    schema: { type: 'string', example: 'return=representation' },
  });
}

/** Documents the `Idempotency-Key` header of a POST. */
export function ApiIdempotencyKey(): MethodDecorator {
  return ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      'Any text that is new for each request, such as the UUID `8e03978e-40d5-43e8-bc93-6894a57f9324`. A repetition with the same key and body within 24 hours gets the first answer and changes nothing.',
    // No example: the explorer would send it with every request, and get the first response again.
    schema: { type: 'string', pattern: '^[!-~]{1,255}$' },
  });
}

/** The header of a replayed response. */
export const REPLAYED_HEADER = {
  'Idempotency-Replayed': header('Only on a repetition: the answer is the one to the first request', 'true'),
};

/** Documents the body of a create and its `Prefer` header. */
export function ApiCreateBody(type: Type<unknown>): MethodDecorator {
  return applyDecorators(ApiBody({ type, required: true }), ApiPrefer());
}

/** Documents the body of an update, in both of its content types. */
export function ApiUpdateBody(type: Type<unknown>): MethodDecorator {
  return applyDecorators(
    ApiConsumes('application/json', 'application/merge-patch+json'),
    ApiPrefer(),
    ApiBody({
      type,
      required: true,
      description:
        'JSON Merge Patch (RFC 7396): only the supplied fields change; null removes an optional one.',
    }),
  );
}

/** The classes of a successful response. */
export interface AnswerClasses {
  readonly record: Type<unknown>;
  /** A record with only the requested `fields`. @default responses are whole records */
  readonly part?: Type<unknown>;
  readonly page: Type<unknown>;
  /** The record as reads return it. @default `record` */
  readonly read?: Type<unknown>;
  /** The response to a create: the identifier, or the record. @default CreatedResult and `record` */
  readonly created?: readonly Type<unknown>[];
  /** Names of fields that the response to a create shows once. @default none */
  readonly once?: readonly string[];
  /** Whether a list without page parameters returns every record. @default true */
  readonly unpaged?: boolean;
  /** Whether a list is also available as NDJSON. @default false */
  readonly ndjson?: boolean;
  /** Whether pages have cursors. @default false */
  readonly hasCursors?: boolean;
  /** @default 201 for a create, 200 for everything else */
  readonly status?: number;
}

/** Documents the successful response of a handler. */
export function ApiSuccess(
  answer: Exclude<AnswerKind, CrudBatchHandler | 'own'>,
  path: string,
  {
    record: type,
    read: whole = type,
    part,
    page,
    created = [CreatedResult, type],
    once = [],
    unpaged = true,
    ndjson = false,
    hasCursors = false,
    status = answer === 'create' ? 201 : 200,
  }: AnswerClasses,
): MethodDecorator {
  const record = { $ref: getSchemaPath(type) };
  const read = anyOf(part ? [whole, part] : [whole]);
  const etag = { ETag: header('The revision of the record', '"0"') };
  const preferred = {
    'Preference-Applied': header('The preference that was honored (RFC 7240)', 'return=representation'),
  };
  const links = header(
    `On a page: first, prev, next and last page (RFC 8288)${hasCursors ? '; on one by its cursor, prev and next' : ''}`,
    `</${path}?offset=0&limit=20>; rel="first"`,
  );
  const json = (schema: object) => ({ 'application/json': { schema } });
  const shownOnce = once.length > 0 ? `. Only here, and not in a repetition: ${once.join(', ')}` : '';
  const perLine = ndjson ? '. As NDJSON, one record a line' : '';
  const success = {
    list: {
      description: unpaged
        ? `Every record, newest first; with \`offset\` or \`limit\`, one page${perLine}`
        : `One page of the records, newest first${perLine}`,
      headers: { Link: links },
      content: {
        ...json(
          unpaged
            ? { oneOf: [{ type: 'array', items: read }, { $ref: getSchemaPath(page) }] }
            : { $ref: getSchemaPath(page) },
        ),
        // OpenAPI 3.0 cannot describe a sequence of records: the schema is that of one line.
        ...(ndjson && { 'application/x-ndjson': { schema: read } }),
      },
    },
    count: { description: 'How many records there are', type: CountResult },
    get: {
      description: part ? 'The record; with `fields`, a part of it' : 'The record',
      headers: etag,
      content: json(read),
    },
    create: {
      description: `Created; the whole record if the request prefers it${shownOnce}`,
      headers: {
        ...etag,
        Location: header('Path of the new record', `/${path}/${ID_EXAMPLE}`),
        ...preferred,
        ...REPLAYED_HEADER,
      },
      content: json({ anyOf: created.map((one) => ({ $ref: getSchemaPath(one) })) }),
    },
    update: {
      description: 'Updated; the whole record if the request prefers it',
      headers: { ...preferred, ETag: header('On a representation: the revision of the record', '"1"') },
      content: json({ anyOf: [{ $ref: getSchemaPath(UpdatedResult) }, record] }),
    },
    del: { description: 'Deleted', type: DeletedResult },
    archive: { description: 'Archived', type: ArchivedResult },
    restore: { description: 'Restored', type: RestoredResult },
  }[answer] as ApiResponseOptions;
  const isRead = answer === 'list' || answer === 'get';
  return applyDecorators(
    ApiExtraModels(type, whole, ...(part && isRead ? [part] : []), page, ...created, UpdatedResult),
    ApiResponse({ status, ...success }),
  );
}

function header(description: string, example: string) {
  return { description, schema: { type: 'string' as const, example } };
}
