import type { SchemaType } from 'mongoose';
import { fieldAt } from '../../fields/index.js';
import { CrudDefinition } from '../definition/crud-definition.js';
import { filterFieldOf } from '../definition/query-definition.js';
import { entryTypeOf } from '../definition/schema-paths.js';
import type { AnyCrudOptions } from '../options/crud-options.js';
import { type Condition, type Operator, OPERATORS } from './list-query.js';

/**
 * A condition of your own code for a read, on any field of the schema, whether clients may filter by it or not:
 *
 * ```ts
 * this.page(scope, query, { and: [conditionOf(messages, 'participants', 'eq', id)] });
 * ```
 *
 * @param value of the field's type; a list of them for `in` and `nin`; true or false for `exists`
 * @throws Error if the field cannot be filtered by, has no such operator, or cannot have the value
 */
export function conditionOf(
  options: AnyCrudOptions,
  path: string,
  operator: Operator,
  value: unknown,
): Condition {
  const { schema } = definitionFor(options);
  const field = filterFieldOf(schema, path, fieldAt(options.entity, path)?.values);
  const fail = (problem: string): never => {
    throw new Error(`conditionOf(${options.entity.name}, "${path}", "${operator}"): ${problem}`);
  };
  if (!field) return fail('the field is no single value, nor a list of such.');
  const allowed: readonly string[] = OPERATORS[field.kind];
  if (!allowed.includes(operator)) fail(`the field has ${allowed.join(', ')}.`);
  const declared = schema.path(path) as SchemaType;
  const type = entryTypeOf(declared) ?? declared;
  const cast = (one: unknown): unknown => {
    if (one === undefined) fail('the value is undefined. Write null for records without one.');
    try {
      return type.cast(one);
    } catch {
      return fail(`the value is not ${field.shape}.`);
    }
  };
  if (operator === 'exists') return { field, operator, values: [Boolean(value)] };
  const values = operator === 'in' || operator === 'nin' ? [value].flat() : [value];
  return { field, operator, values: values.map(cast) };
}

/** The definitions that conditions were made of, by the options. */
const definitions = new WeakMap<AnyCrudOptions, CrudDefinition>();

function definitionFor(options: AnyCrudOptions): CrudDefinition {
  const definition = definitions.get(options) ?? new CrudDefinition(options);
  definitions.set(options, definition);
  return definition;
}
