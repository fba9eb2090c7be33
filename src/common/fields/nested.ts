import type { Type } from '@nestjs/common';
import { decoratorOf, type FieldDecorator, type FieldOptions, type FieldRule } from './field-rule.js';
import { withTextExample } from './json-schema.js';
import { KINDS } from './kinds.js';

/** Options of `IsListOf`. */
export interface ListOptions extends FieldOptions<unknown[]> {
  /** Maximum number of entries. */
  max: number;
  /** Minimum number of entries. @default 0 */
  min?: number;
  /** Whether all entries must be different. @default false */
  unique?: boolean;
}

/**
 * A list, replaced as a whole by an update.
 *
 * @param of class of the entries, or the decorator of a single value
 * @example `@IsListOf(() => Variant, { max: 50 })`, `@IsListOf(IsReference(() => Tag), { max: 10 })`
 */
export function IsListOf(of: (() => Type<object>) | FieldDecorator, options: ListOptions): FieldDecorator {
  const entry = 'rule' in of ? of.rule : objectRule(of);
  const { min = 0, max, unique = false } = options;
  if (entry.list)
    throw new Error('IsListOf takes a class or the decorator of a single value, not of a list.');
  const count = min > 0 ? `${min} to ${max}` : `at most ${max}`;
  const shape = `an array of ${count}${unique ? ' distinct' : ''} entries, each ${entry.shape}`;
  return decoratorOf(options, {
    ...entry,
    name: 'isListOf',
    list: true,
    shape,
    shapeFor: () => shape,
    accepts: (value) =>
      Array.isArray(value) &&
      value.length >= min &&
      value.length <= max &&
      Array.from(value as unknown[]).every(entry.accepts) &&
      (!unique || areDistinct(value, entry)),
    schema: withTextExample({
      type: 'array',
      items: entry.schema,
      ...(min > 0 && { minItems: min }),
      maxItems: max,
      ...(unique && { uniqueItems: true }),
    }),
    storeRequired: true,
  });
}

/** Whether all entries differ as JSON. Identifiers are compared ignoring case. */
function areDistinct(entries: readonly unknown[], { kind }: FieldRule): boolean {
  const keyOf = (entry: unknown) =>
    kind === 'identifier' ? String(entry).toLowerCase() : JSON.stringify(entry);
  return new Set(entries.map(keyOf)).size === entries.length;
}

function objectRule(nested: () => Type<object>): FieldRule {
  return { ...KINDS.nested, name: 'isNested', kind: 'nested', nested };
}

/** A nested object with the fields of a class, checked as strictly as the body itself. */
export function IsNested(type: () => Type<object>, options: FieldOptions<object> = {}): FieldDecorator {
  return decoratorOf(options, objectRule(type));
}
