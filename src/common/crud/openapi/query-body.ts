import type { Type } from '@nestjs/common';
import type { ParameterObject } from '@nestjs/swagger';
import { type JsonSchema, nullable } from '../../fields/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { FilterField } from '../definition/query-definition.js';
import { BODY_LIMITS, type Operator, OPERATORS } from '../query/list-query.js';
import { bodyTypeOf } from '../query/read-body.js';
import type { Operation } from './decorators.js';
import { operandOf, otherParameters } from './parameters.js';
import { refTo, schemaClass } from './schema-class.js';

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
export function queryBody(definition: CrudDefinition, where: Type<object>): Operation['body'] {
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
