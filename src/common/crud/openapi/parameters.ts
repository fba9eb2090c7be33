import { ApiHeader, ApiParam, ApiQuery, type ParameterObject, type SchemaObject } from '@nestjs/swagger';
import type { Type } from '@nestjs/common';
import { type FieldDescription, type JsonSchema, nullable } from '../../fields/index.js';
import { OBJECT_ID_INPUT_PATTERN } from '../../ids/index.js';
import { ARCHIVED } from '../definition/archive.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { type FilterField, NEWEST_FIRST, PAGE_LIMITS } from '../definition/query-definition.js';
import {
  BODY_LIMITS,
  COUNT_MODES,
  type Operator,
  OPERATORS,
  QUERY_LIMITS,
  type ReadKind,
} from '../query/list-query.js';
import { bodyTypeOf } from '../query/read-body.js';
import { filtersOf, needsOperator, parametersOf } from '../query/read-query.js';
import { MAX_SEARCH_LENGTH } from '../search/search.js';
import type { Exchange } from './responses.js';
import { refTo, schemaClass } from './schema-class.js';

/** A parameter in the query; the rest of it is as OpenAPI 3.0 says. */
function inQuery(
  name: string,
  description: string | undefined,
  schema: JsonSchema,
  rest?: Partial<ParameterObject>,
): ParameterObject {
  return { name, in: 'query', required: false, description, ...rest, schema: schema as object };
}

const inHeader: typeof inQuery = (...described) => ({ ...inQuery(...described), in: 'header' });

/** A parameter in the query or a header that a field of a class describes. */
export function ofField({ name, list, required, schema }: FieldDescription, place: 'query' | 'header') {
  const { description, ...rest } = schema;
  const of = place === 'query' ? inQuery : inHeader;
  return of(name, description, rest, { required, ...(list && place === 'query' && commas) });
}

/** Has Nest's document say this about a handler. */
export function documentParameter({ in: place, ...parameter }: ParameterObject): MethodDecorator {
  if (place === 'header') return ApiHeader(parameter);
  const decorator = place === 'path' ? ApiParam : ApiQuery;
  return decorator({ ...parameter, schema: parameter.schema as SchemaObject });
}

/** An identifier in the path. */
export function idParameter(label: string, name = 'id'): ParameterObject {
  return {
    name,
    in: 'path',
    required: true,
    description: `Identifier of the ${label.toLowerCase()}, as its create answers with it`,
    // No example: the explorer would send it, and no record has it.
    schema: { type: 'string', pattern: OBJECT_ID_INPUT_PATTERN },
  };
}

/** A description and a schema, and what else OpenAPI says of a parameter. */
type Described = readonly [description: string, schema: JsonSchema, rest?: Partial<ParameterObject>];

type HeaderName = 'Prefer' | 'If-None-Match' | 'Idempotency-Key' | 'If-Match';

/** The headers of generated routes. */
const HEADERS: Readonly<Record<HeaderName, Described>> = {
  Prefer: [
    '`return=representation` (RFC 7240) answers with the whole record.',
    { type: 'string', example: 'return=representation' },
  ],
  'If-None-Match': [
    'ETags that the client has (RFC 9110); 304 if the record still has one of them.',
    { type: 'string', example: '"none"' },
  ],
  'Idempotency-Key': [
    'Any text that is new for each request, such as the UUID `8e03978e-40d5-43e8-bc93-6894a57f9324`. A repetition with the same key and body within 24 hours gets the first answer and changes nothing.',
    // No example: the explorer would send it with every request, and get the first response again.
    { type: 'string', pattern: '^[!-~]{1,255}$' },
  ],
  'If-Match': [
    'Change the record only if it has one of these ETags (RFC 9110); otherwise 412.',
    { type: 'string', example: '*' },
  ],
};

export function headerParameter(name: HeaderName): ParameterObject {
  return inHeader(name, ...HEADERS[name]);
}

/** A list of names, separated by commas. */
const commas = { style: 'form', explode: false } as const;

const cursor = (place: string): Described => [
  `Cursor of a page with the same filter and order: the records ${place}. Not with \`offset\`.`,
  { type: 'string', minLength: 1 },
];

/** The parameters of typed queries, besides filters. */
const PARAMETERS: Readonly<Record<string, (definition: CrudDefinition) => Described>> = {
  offset: ({ list }) => {
    const paged = ' With it or `limit` the answer is a page; without both, every record.';
    const description = `Number of records to skip.${list.unpaged ? paged : ''}`;
    return [description, { type: 'integer', ...PAGE_LIMITS.offset }];
  },
  limit: ({ list: { maxLimit, unpaged } }) => {
    const size = Math.min(PAGE_LIMITS.limit.default, maxLimit);
    const left = unpaged ? 'only another page parameter is there' : 'it is left out';
    const bounds = { minimum: PAGE_LIMITS.limit.minimum, maximum: maxLimit };
    return [
      `Maximum number of records per page. ${size} if ${left}.`,
      // A default would apply to every request, even one without page parameters.
      { type: 'integer', ...bounds, ...(!unpaged && { default: size }) },
    ];
  },
  after: () => cursor('that come after it (`next`)'),
  before: () => cursor('that come before it (`prev`)'),
  count: () => [
    'How a page counts all records: `estimated` may take the figure that the database keeps, `none` leaves `count` out.',
    { type: 'string', enum: [...COUNT_MODES], default: 'exact' },
  ],
  sort: ({ query }) => [
    'Order of the records; a minus is descending. Records without the field come first in ascending order.',
    { type: 'string', enum: [...query.orders.keys()], default: NEWEST_FIRST.text },
  ],
  fields: ({ shownFields }) => [
    'Names of the fields to show; `_id` always comes. Without it, all.',
    { type: 'array', minItems: 1, items: { type: 'string', enum: [...shownFields] } },
    commas,
  ],
  q: ({ query: { search } }) => {
    const fields = search?.fields.map((field) => `\`${field}\``).join(', ');
    return [
      `Words to find in ${fields}, all of them, without regard to case and accents. Words in double quotes stand next to each other; a minus in front of a word or phrase excludes it, as in \`tea "green leaves" -milk\`.`,
      // No example: the explorer would send it with every list.
      { type: 'string', minLength: 1, maxLength: MAX_SEARCH_LENGTH },
    ];
  },
  expand: ({ expandable }) => [
    'References whose records take the place of their identifiers; a record that you may not read stays an identifier. An answer with it is never a 304.',
    { type: 'array', items: { type: 'string', enum: [...expandable.keys()] } },
    commas,
  ],
  archived: () => [
    'Your archived records: those alone, or beside the live ones. Takes a token.',
    { type: 'string', enum: [...ARCHIVED] },
  ],
};

/** Every parameter of a typed query. */
export function readParameters(kind: ReadKind, definition: CrudDefinition): ParameterObject[] {
  const { archive, query } = definition;
  const filters = [...filtersOf(kind, query).values()];
  return [
    ...otherParameters(kind, definition),
    ...filters.flatMap((field) => filterParameters(field, archive?.field)),
  ];
}

/** Those that are not filters. */
function otherParameters(kind: ReadKind, definition: CrudDefinition): ParameterObject[] {
  return parametersOf(kind, definition).flatMap((name) => {
    const described = PARAMETERS[name]?.(definition);
    return described ? [inQuery(name, ...described)] : [];
  });
}

/** The filter of a field, in its short form and with operators. */
function filterParameters(field: FilterField, archived: string | undefined): ParameterObject[] {
  const { path, schema } = field;
  const operands = OPERATORS[field.kind].map((operator) => [operator, operandOf(field, operator)] as const);
  // The bare name is another parameter.
  if (needsOperator(path)) {
    return operands.map(([operator, { description, ...operand }]) =>
      inQuery(`${path}[${operator}]`, description, operand),
    );
  }
  const properties = Object.fromEntries(operands);
  return [
    inQuery(
      path,
      descriptionOf(field) + (path === archived ? ' Only with `archived`.' : ''),
      { oneOf: [schema, { type: 'object', properties, minProperties: 1, additionalProperties: false }] },
      { style: 'deepObject', explode: true },
    ),
  ];
}

function descriptionOf({ path, kind, isList, example }: FilterField): string {
  const entries = isList ? ' A list matches by any of its entries; with `ne` and `nin`, by none.' : '';
  const operator = OPERATORS[kind].find((name) => PREFERRED.includes(name)) ?? 'ne';
  return (
    `A value, such as \`${path}=${example}\`, or operators: \`${path}[${operator}]=${example}\`, in the explorer ` +
    `\`{"${operator}": "${example}"}\`.${entries} At most ${QUERY_LIMITS.conditions} conditions per request.`
  );
}

/** Operators that best show the possibilities beyond a plain value. */
const PREFERRED: readonly string[] = ['contains', 'gte', 'in'] satisfies Operator[];

function operandOf({ schema }: FilterField, operator: Operator): JsonSchema {
  return { ...(OPERANDS[operator] ?? schema), description: MEANINGS[operator] };
}

/** Operands that are not values of the field. */
const OPERANDS: Readonly<Partial<Record<Operator, JsonSchema>>> = {
  in: { type: 'string' },
  nin: { type: 'string' },
  exists: { type: 'boolean' },
};

const ESCAPES = 'separated by commas (`\\,` is a comma inside of a value, `\\\\` a backslash)';

const MEANINGS: Readonly<Record<Operator, string>> = {
  eq: 'Equal',
  ne: 'Not equal, or without the field',
  gt: 'Greater than',
  gte: 'Greater than, or equal',
  lt: 'Less than',
  lte: 'Less than, or equal',
  in: `One of at most ${QUERY_LIMITS.values} values, ${ESCAPES}`,
  nin: `None of at most ${QUERY_LIMITS.values} values, ${ESCAPES}, or without the field`,
  exists: 'true: present and not null; false: absent or null',
  contains: 'Contains the text, ignoring case',
  startsWith: 'Starts with the text, ignoring case',
};

/** The class that names the schema of `where` in the queries of a resource. */
export function whereClass({ label, query }: CrudDefinition): Type<object> {
  const name = `${label}Where`;
  const where = { $ref: `#/components/schemas/${name}` };
  const list = { type: 'array', items: where, minItems: 1, maxItems: BODY_LIMITS.entries } as const;
  return schemaClass(name, {
    properties: {
      ...Object.fromEntries([...query.filters].map(([path, field]) => [path, conditionsOn(field)])),
      and: { ...list, description: 'All of them are true' },
      or: { ...list, description: 'At least one of them is true' },
      // Within allOf, Swagger UI would report that the schema refers to itself.
      not: { ...where, type: 'object', description: 'It is not true' },
    },
  });
}

/** A value of a field, or operators. */
function conditionsOn(field: FilterField): JsonSchema {
  const value = nullable(field.schema);
  const list = {
    type: 'array',
    items: value,
    minItems: 1,
    maxItems: BODY_LIMITS.values,
    example: [valueOf(field)],
  } as const;
  const operands: Partial<Record<Operator, JsonSchema>> = { eq: value, ne: value, in: list, nin: list };
  const properties = Object.fromEntries(
    OPERATORS[field.kind].map((operator) => [operator, operands[operator] ?? operandOf(field, operator)]),
  );
  return { oneOf: [value, { type: 'object', properties, minProperties: 1, additionalProperties: false }] };
}

/** The body of a query: conditions, and the other parameters of a list by their names. */
export function queryBody(definition: CrudDefinition, where: Type<object>): Exchange['body'] {
  const parameters = otherParameters('list', definition);
  const properties = Object.fromEntries(parameters.map((parameter) => [parameter.name, memberOf(parameter)]));
  return {
    schema: {
      type: 'object',
      properties: {
        where: { allOf: [refTo(where)], description: `At most ${BODY_LIMITS.conditions} conditions` },
        ...properties,
      },
      additionalProperties: false,
      example: { where: exampleOf(definition), limit: 20 },
    },
  };
}

/** A parameter as a member of a body. */
function memberOf({ name, description, schema = {} }: ParameterObject): JsonSchema {
  const { default: preset, ...plain } = schema as JsonSchema;
  if (bodyTypeOf(name) !== 'list' || plain.type === 'array') return { ...plain, description };
  const orders = plain.enum?.map((order) => String(order).split(',')) ?? [];
  const items = { type: 'string' as const, enum: [...new Set(orders.flat())] };
  return {
    type: 'array',
    minItems: 1,
    items,
    description,
    ...(preset !== undefined && { default: [preset] }),
  };
}

function exampleOf({ query }: CrudDefinition): object {
  const [field] = [...query.live.filters.values()].filter(({ path }) => path !== '_id');
  if (!field) return {};
  return { not: { [field.path]: valueOf(field) } };
}

/** The example of a field as a body has it. */
function valueOf({ example, schema }: FilterField): unknown {
  return schema.type === 'string' ? example : (JSON.parse(example) as unknown);
}
