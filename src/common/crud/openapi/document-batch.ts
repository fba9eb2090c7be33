import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiConsumes, ApiExtraModels, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { LINE_PROBLEM, PROBLEM_SCHEMA } from '../../errors/index.js';
import type { JsonSchema } from '../../fields/index.js';
import { NDJSON_TYPE } from '../../http/index.js';
import { MAX_OPERATIONS } from '../batch/operation.js';
import type { ResourceMetadata } from '../http/resource-metadata.js';
import { itemRouteOf, type ItemKind, type Route } from '../routes/routes.js';
import type { CrudClasses } from './create-classes.js';
import { ID_SCHEMA } from './record-schema.js';

/** Schemas of this file, which use more keywords than those of fields. */
type Schema = JsonSchema | Record<string, unknown>;

const STATUS = { type: 'integer', minimum: 200, maximum: 399, example: 200 };
const IF_MATCH = {
  type: 'string',
  description: 'ETags with their quotes, as in the header If-Match (RFC 9110), or `*`; otherwise 412',
  example: '*',
};
const POINTERS =
  'The pointers in a problem begin at the record or the changes; those of an operation that is malformed begin at the operation.';

/** Documents the body of a batch and the results of its items. */
export function documentBatch(
  { handler, status }: Route,
  { routes }: ResourceMetadata,
  classes: CrudClasses,
): MethodDecorator {
  const models = ApiExtraModels(classes.create, classes.update, LINE_PROBLEM);
  if (handler === 'import') return applyDecorators(models, ...documentImport(status, classes));
  const kinds = (['create', 'update', 'del'] as const).filter((kind) => itemRouteOf(routes.values(), kind));
  return applyDecorators(models, ...documentBulk(status, classes, kinds));
}

function documentBulk(status: number, classes: CrudClasses, kinds: readonly ItemKind[]): MethodDecorator[] {
  const operations: Readonly<Record<ItemKind, Schema>> = {
    create: object({ create: { $ref: getSchemaPath(classes.create) } }),
    update: object({
      update: object(
        { _id: ID_SCHEMA, changes: { $ref: getSchemaPath(classes.update) }, ifMatch: IF_MATCH },
        ['_id', 'changes'],
      ),
    }),
    del: object({ del: object({ _id: ID_SCHEMA, ifMatch: IF_MATCH }, ['_id']) }),
  };
  const list = {
    type: 'array',
    minItems: 1,
    maxItems: MAX_OPERATIONS,
    items: { oneOf: kinds.map((kind) => operations[kind]) },
  };
  const results = {
    type: 'array',
    items: {
      oneOf: [
        object({ status: STATUS, _id: ID_SCHEMA }),
        object({ status: STATUS }),
        PROBLEM_SCHEMA,
        object(SHORT_PROBLEM),
      ],
    },
  };
  return [
    ApiBody({ required: true, schema: object({ operations: list }), description: 'Carried out in order.' }),
    ApiResponse({
      status,
      description: `The result of each operation, in order. One that fails does not undo the others. ${POINTERS}`,
      content: { 'application/json': { schema: object({ results }) } },
    }),
  ];
}

function documentImport(status: number, classes: CrudClasses): MethodDecorator[] {
  const line = { type: 'integer', minimum: 1, example: 1 };
  return [
    ApiConsumes(NDJSON_TYPE),
    ApiBody({
      required: true,
      schema: { $ref: getSchemaPath(classes.create) },
      description:
        'A record a line, of any number. Blank lines are skipped; each line has the limit of a body.',
    }),
    ApiResponse({
      status,
      description: 'The result of each line, a line each, in order. Lines count from 1, blank ones as well.',
      content: {
        [NDJSON_TYPE]: {
          schema: {
            oneOf: [
              object({ line, status: STATUS, _id: ID_SCHEMA }, ['line', 'status']),
              { $ref: getSchemaPath(LINE_PROBLEM) },
              object({ line, ...SHORT_PROBLEM }),
            ],
          },
        },
      },
    }),
  ];
}

/** A problem whose texts would make the response much longer than the request. */
const SHORT_PROBLEM = {
  status: { type: 'integer', example: 400 },
  code: { type: 'string', example: 'VALIDATION_FAILED' },
};

/** An object with these members and no others. @param required @default all of them */
function object(properties: Readonly<Record<string, Schema>>, required = Object.keys(properties)) {
  return { type: 'object', properties, required, additionalProperties: false } as const;
}
