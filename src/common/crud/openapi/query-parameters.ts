import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiQuery } from '@nestjs/swagger';
import type { JsonSchema } from '../../fields/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { FilterField } from '../definition/filter-field.js';
import { NEWEST_FIRST } from '../definition/order.js';
import {
  COUNT_MODES,
  MAX_CONDITIONS,
  MAX_VALUES,
  type Operator,
  OPERATORS,
  type ReadKind,
} from '../query/list-query.js';
import { needsOperator } from '../query/conditions.js';
import { filtersOf, parametersOf } from '../query/read-query.js';
import { MAX_SEARCH_LENGTH, type SearchDefinition } from '../search/search.js';
import { ApiPaging } from './decorators.js';

/** Documents every query parameter of a route with a typed query. */
export function ApiReading(kind: ReadKind, definition: CrudDefinition): MethodDecorator {
  const { archive, list, query, shownFields } = definition;
  const known = parametersOf(kind, definition);
  return applyDecorators(
    ...(known.includes('offset') ? [ApiPaging(list)] : []),
    ...(known.includes('after') ? [ApiCursors()] : []),
    ...(known.includes('sort') ? [ApiSort([...query.orders.keys()])] : []),
    ...(known.includes('fields') ? [ApiFields(shownFields)] : []),
    ...(query.search && known.includes('q') ? [ApiSearch(query.search)] : []),
    ...[...filtersOf(kind, query).values()].map((field) => ApiFilter(field, field.path === archive?.field)),
  );
}

/** Documents `fields`. */
export function ApiFields(names: readonly string[]): MethodDecorator {
  return ApiQuery({
    name: 'fields',
    required: false,
    style: 'form',
    explode: false,
    description: 'Names of the fields to show, separated by commas; `_id` always comes. Without it, all.',
    schema: { type: 'array', minItems: 1, items: { type: 'string', enum: [...names] } },
  });
}

function ApiSort(orders: string[]): MethodDecorator {
  return ApiQuery({
    name: 'sort',
    required: false,
    description:
      'Order of the records; a minus is descending. Records without the field come first in ascending order.',
    schema: { type: 'string', enum: orders, default: NEWEST_FIRST.text },
  });
}

/** Documents the filter of a field, in its short form and with operators. */
function ApiFilter(field: FilterField, isOfArchive: boolean): MethodDecorator {
  const operators = OPERATORS[field.kind];
  if (needsOperator(field.path)) return applyDecorators(...operators.map((one) => ApiOperator(field, one)));
  const properties = Object.fromEntries(operators.map((operator) => [operator, operandOf(field, operator)]));
  return ApiQuery({
    name: field.path,
    required: false,
    style: 'deepObject',
    explode: true,
    description: descriptionOf(field) + (isOfArchive ? ' Only with `archived`.' : ''),
    schema: {
      oneOf: [field.schema, { type: 'object', properties, minProperties: 1, additionalProperties: false }],
    } as object,
  });
}

/** Documents one operator of a field whose bare name is another parameter. */
function ApiOperator(field: FilterField, operator: Operator): MethodDecorator {
  const { description, ...schema } = operandOf(field, operator);
  return ApiQuery({
    name: `${field.path}[${operator}]`,
    required: false,
    description,
    schema: schema as object,
  });
}

function descriptionOf({ path, kind, isList, example }: FilterField): string {
  const entries = isList ? ' A list matches by any of its entries; with `ne` and `nin`, by none.' : '';
  const operator = OPERATORS[kind].find((name) => PREFERRED.includes(name)) ?? 'ne';
  return (
    `A value, such as \`${path}=${example}\`, or operators: \`${path}[${operator}]=${example}\`, in the explorer ` +
    `\`{"${operator}": "${example}"}\`.${entries} At most ${MAX_CONDITIONS} conditions per request.`
  );
}

/** Operators that best show the possibilities beyond a plain value. */
const PREFERRED: readonly string[] = ['contains', 'gte', 'in'] satisfies Operator[];

function operandOf({ schema }: FilterField, operator: Operator): JsonSchema {
  return { ...(OPERANDS[operator] ?? schema), description: MEANINGS[operator] };
}

const LIST: JsonSchema = { type: 'string' };

/** Operands that are not values of the field. */
const OPERANDS: Readonly<Partial<Record<Operator, JsonSchema>>> = {
  in: LIST,
  nin: LIST,
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
  in: `One of at most ${MAX_VALUES} values, ${ESCAPES}`,
  nin: `None of at most ${MAX_VALUES} values, ${ESCAPES}, or without the field`,
  exists: 'true: present and not null; false: absent or null',
  contains: 'Contains the text, ignoring case',
  startsWith: 'Starts with the text, ignoring case',
};

/** Documents `q`. */
function ApiSearch({ fields }: SearchDefinition): MethodDecorator {
  return ApiQuery({
    name: 'q',
    required: false,
    description: [
      `Words to find in ${fields.map((field) => `\`${field}\``).join(', ')}, all of them, without regard to case and accents.`,
      'Words in double quotes stand next to each other; a minus in front of a word or phrase excludes it, as in',
      '`tea "green leaves" -milk`.',
    ].join(' '),
    // No example: the explorer would send it with every list.
    schema: { type: 'string', minLength: 1, maxLength: MAX_SEARCH_LENGTH },
  });
}

const CURSOR_EXAMPLE = 'qL0r3yCkSYpWcQ1xJ8mOSzEAAAAEYXQAEAAAAAkw';

/** Documents `after`, `before` and `count`. */
function ApiCursors(): MethodDecorator {
  const cursor = (name: string, place: string) =>
    ApiQuery({
      name,
      required: false,
      description: `Cursor of a page with the same filter and order: the records ${place}. Not with \`offset\`.`,
      schema: { type: 'string', minLength: 1 },
    });
  return applyDecorators(
    cursor('after', 'that come after it (`next`)'),
    cursor('before', 'that come before it (`prev`)'),
    ApiQuery({
      name: 'count',
      required: false,
      description:
        'How a page counts all records: `estimated` may take the figure that the database keeps, `none` leaves `count` out.',
      schema: { type: 'string', enum: [...COUNT_MODES], default: 'exact' },
    }),
  );
}

/** Documents `next` and `prev` of a page. */
export class PageEnds {
  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Cursor of the next page (`after`); null on the last one',
    example: CURSOR_EXAMPLE,
  })
  next!: string | null;

  @ApiProperty({
    type: String,
    nullable: true,
    description: 'Cursor of the previous page (`before`); null on the first one',
    example: null,
  })
  prev!: string | null;
}
