import { RequestMethod, type Type } from '@nestjs/common';
import type { ApiResponseOptions, ContentObject, HeaderObject, ResponseObject } from '@nestjs/swagger';
import { LineProblemBody, PROBLEM_SCHEMA } from '../../errors/index.js';
import { exampleOf, type JsonSchema, jsonSchemaOf } from '../../fields/index.js';
import { NDJSON_TYPE } from '../../http/index.js';
import { MAX_OPERATIONS } from '../batch/operation.js';
import type { CrudBatchHandler } from '../options/crud-options.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import {
  type ControllerMetadata,
  type ItemKind,
  itemRouteOf,
  onceFieldsOf,
  type ResponseKind,
  returnsRecord,
  type Route,
  Shape,
  TAKES_QUERY,
} from '../routes/routes.js';
import type { CrudClasses } from './create-classes.js';
import { ID_SCHEMA } from './record-schema.js';
import {
  anyOf,
  ArchivedResult,
  CountResult,
  DeletedResult,
  documentedClass,
  refTo,
  RestoredResult,
  UpdatedResult,
} from './schema-class.js';

/** What a route takes and responds with, in the terms of OpenAPI 3.0. */
export interface Exchange {
  readonly body?: { readonly schema: object; readonly description?: string };
  readonly response: ResponseObject;
  /** The classes whose schemas they refer to. */
  readonly models: readonly Type<unknown>[];
}

/** The kinds of successful response that are the same for every resource. */
type SuccessKind = Exclude<ResponseKind, CrudBatchHandler | 'own'>;

function header(description: string, example: string): HeaderObject {
  return { description, schema: { type: 'string', example } };
}

function content(schema: object, type = 'application/json'): ContentObject {
  return { [type]: { schema } };
}

const ETAG = { ETag: header('The revision of the record', '"0"') };

const PREFERENCE_APPLIED = {
  'Preference-Applied': header('The preference that was honored (RFC 7240)', 'return=representation'),
};

/** Whether a route takes an `Idempotency-Key`. A stream is too long to compare with that of an earlier request. */
export function takesKey({ body, consumes, method, reads }: Route): boolean {
  return method === RequestMethod.POST && body !== 'lines' && consumes === undefined && !reads;
}

/** What a route responds with, and what a batch takes. */
export function exchangeOf(route: Route, metadata: ControllerMetadata, classes: CrudClasses): Exchange {
  const { definition } = metadata;
  const { kind, response } = route;
  if (kind === 'import') return importExchange(classes);
  if (kind === 'bulk') {
    const kinds = (['create', 'update', 'del'] as const).filter((kind) => itemRouteOf(metadata, kind));
    return bulkExchange(classes, definition, kinds);
  }
  if (kind !== 'own') return successOf(kind, classes, definition);
  const done = (content: ResponseObject['content']) => ({ description: 'Done', content });
  if (typeof response === 'string') return { models: [], response: done({ [response]: { schema: {} } }) };
  const shape = response instanceof Shape ? response : undefined;
  const shown = shape?.type ?? (response as Type<object> | undefined) ?? definition.entity;
  const { page, reads, record } = classes;
  const isPage = shape?.kind === 'page';
  const types = shown !== definition.entity ? [documentedClass(shown)] : route.reads ? reads : [record];
  const item = isPage ? refTo(page) : anyOf(types);
  const schema = shape?.kind === 'list' ? { type: 'array', items: item } : item;
  return {
    models: [...types, ...(isPage ? [page, ...reads] : [])],
    response: done({ 'application/json': { schema } }),
  };
}

/** The headers of a route's success that do not depend on what its body is. */
export function headersOf(route: Route, definition: CrudDefinition): Record<string, HeaderObject> {
  const { body, kind, path, response } = route;
  const isPage = kind === 'list' || (response instanceof Shape && response.kind === 'page');
  const at = [definition.path, path].filter(Boolean).join('/');
  return {
    ...(returnsRecord(route, definition) && ETAG),
    ...(isPage &&
      body !== 'query' && {
        Link: header(
          'On a page: first, prev, next and last page (RFC 8288); on one by its cursor, prev and next',
          `</${at}?offset=0&limit=20>; rel="first"`,
        ),
      }),
    // RFC 10008, section 3
    ...(kind === 'list' &&
      TAKES_QUERY && {
        'Accept-Query': header('The media type of a query in the body', '"application/json"'),
      }),
    ...(takesKey(route) && {
      'Idempotency-Replayed': header(
        'Only on a repetition: the answer is the one to the first request',
        'true',
      ),
    }),
  };
}

/** The response to a read with `If-None-Match`. */
export const NOT_MODIFIED: ApiResponseOptions = { status: 304, description: 'Not modified', headers: ETAG };

/** The responses that say only that it is done, or how many. */
const RESULTS: Readonly<Partial<Record<SuccessKind, readonly [description: string, type: Type<unknown>]>>> = {
  count: ['How many records there are', CountResult],
  del: ['Deleted', DeletedResult],
  archive: ['Archived', ArchivedResult],
  restore: ['Restored', RestoredResult],
};

/** The successful response of a handler, and the classes that it refers to. */
function successOf(kind: SuccessKind, classes: CrudClasses, definition: CrudDefinition): Exchange {
  const { record, reads, page, created } = classes;
  const [description, type] = RESULTS[kind] ?? ['', UpdatedResult];
  const isRead = kind === 'list' || kind === 'get';
  return {
    models: [record, ...created, type, ...(isRead ? reads : []), ...(kind === 'list' ? [page] : [])],
    response: SUCCESSES[kind]?.(classes, definition) ?? { description, content: content(refTo(type)) },
  };
}

type Success = (classes: CrudClasses, definition: CrudDefinition) => ResponseObject;

/** The responses with records. */
const SUCCESSES: Readonly<Partial<Record<SuccessKind, Success>>> = {
  list: ({ reads, page }, { list: { unpaged } }) => {
    const record = anyOf(reads);
    const what = unpaged
      ? 'Every record, newest first; with `offset` or `limit`, one page'
      : 'One page of the records, newest first';
    return {
      description: `${what}. As NDJSON, one record a line; as CSV, a line of names first, and no lists or objects`,
      content: {
        ...content(unpaged ? { oneOf: [{ type: 'array', items: record }, refTo(page)] } : refTo(page)),
        // OpenAPI 3.0 cannot describe a sequence of records: the schema is that of one line.
        ...content(record, NDJSON_TYPE),
        ...content({ type: 'string' }, 'text/csv'),
      },
    };
  },
  get: ({ reads }) => ({
    description: 'The record; with `fields`, a part of it',
    headers: ETAG,
    content: content(anyOf(reads)),
  }),
  create: ({ created }, definition) => ({
    description: `Created; the whole record if the request prefers it${shownOnce(onceFieldsOf(definition))}`,
    headers: {
      ...ETAG,
      Location: header('Path of the new record', `/${definition.path}/${ID_SCHEMA.example}`),
      ...PREFERENCE_APPLIED,
    },
    content: content({ anyOf: created.map(refTo) }),
  }),
  update: ({ record }) => ({
    description: 'Updated; the whole record if the request prefers it',
    headers: {
      ...PREFERENCE_APPLIED,
      ETag: header('The new revision, if isolation lets the caller read the record', '"1"'),
    },
    content: content({ anyOf: [UpdatedResult, record].map(refTo) }),
  }),
};

function shownOnce(names: readonly string[]): string {
  return names.length > 0 ? `. Only here, and not in a repetition: ${names.join(', ')}` : '';
}

/** Schemas of batches, which use more keywords than those of fields. */
type Schema = JsonSchema | Record<string, unknown>;

/** An object with these members and no others. @param required @default all of them */
function object(properties: Readonly<Record<string, Schema>>, required = Object.keys(properties)): Schema {
  return { type: 'object', properties, required, additionalProperties: false };
}

const STATUS = { type: 'integer', minimum: 200, maximum: 399, example: 200 };

const IF_MATCH = {
  type: 'string',
  description: 'ETags with their quotes, as in the header If-Match (RFC 9110), or `*`; otherwise 412',
  example: '*',
};

/** A problem whose texts would make the response much longer than the request. */
const SHORT_PROBLEM = {
  status: { type: 'integer', example: 400 },
  code: { type: 'string', example: 'VALIDATION_FAILED' },
};

/** The body of a bulk request, and the results of its operations. */
function bulkExchange(
  { create, update }: CrudClasses,
  { inputs, kinds: ofRecords }: CrudDefinition,
  kinds: readonly ItemKind[],
): Exchange {
  const operations: Readonly<Record<ItemKind, Schema>> = {
    create: object({ create: refTo(create) }),
    update: object({
      update: object({ _id: ID_SCHEMA, changes: refTo(update), ifMatch: IF_MATCH }, ['_id', 'changes']),
    }),
    del: object({ del: object({ _id: ID_SCHEMA, ifMatch: IF_MATCH }, ['_id']) }),
  };
  const items = { oneOf: kinds.map((kind) => operations[kind]) };
  // Only creates: no record has an identifier that could be given.
  const [input = inputs.create] = ofRecords?.values() ?? [];
  const operation = { create: exampleOf(jsonSchemaOf(input)) };
  const example = kinds.includes('create') ? { example: [operation, operation] } : {};
  const results = {
    oneOf: [
      object({ status: STATUS, _id: ID_SCHEMA }),
      object({ status: STATUS }),
      PROBLEM_SCHEMA,
      object(SHORT_PROBLEM),
    ],
  };
  return {
    models: [create, update, LineProblemBody],
    body: {
      schema: object(
        {
          operations: { type: 'array', minItems: 1, maxItems: MAX_OPERATIONS, items, ...example },
          atomic: {
            type: 'boolean',
            default: false,
            description: 'Whether all operations are carried out, or none, as one unit of work',
          },
        },
        ['operations'],
      ),
      description: 'Carried out in order.',
    },
    response: {
      description:
        'The result of each operation, in order. One that fails does not undo the others, unless the request is atomic: then `committed` says whether all were carried out, or none. The pointers in a problem begin at the record or the changes; those of an operation that is malformed begin at the operation.',
      content: content(
        object({ committed: { type: 'boolean' }, results: { type: 'array', items: results } }, ['results']),
      ),
    },
  };
}

/** The body of an import, and the results of its lines. */
function importExchange({ create, update }: CrudClasses): Exchange {
  const line = { type: 'integer', minimum: 1, example: 1 };
  const results = [
    object({ line, status: STATUS, _id: ID_SCHEMA }, ['line', 'status']),
    refTo(LineProblemBody),
    object({ line, ...SHORT_PROBLEM }),
  ];
  return {
    models: [create, update, LineProblemBody],
    body: {
      schema: refTo(create),
      description:
        'A record a line, of any number. Blank lines are skipped; each line has the limit of a body.',
    },
    response: {
      description: 'The result of each line, a line each, in order. Lines count from 1, blank ones as well.',
      content: content({ oneOf: results }, NDJSON_TYPE),
    },
  };
}
