import { errorMessages } from '../../errors/index.js';
import { CrudDefinition } from '../definition/crud-definition.js';
import { type FilterField, filterFieldOf } from '../definition/query-definition.js';
import { valueTypeAt } from '../schema/schema-paths.js';
import type { AnyCrudOptions } from '../options/crud-options.js';
import { searchPredicates } from '../search/search.js';
import type { StoreFilter } from '../schema/store-types.js';
import { exactly } from '../store/shared-reads.js';
import {
  BODY_LIMITS,
  type Condition,
  type ListQuery,
  type Operator,
  OPERATORS,
  QUERY_LIMITS,
  type Where,
} from './list-query.js';

/** Reads the conditions of one query strictly: operators of the field's type, with values of that type. */
export class ConditionReader {
  private readonly limits: Readonly<Record<'conditions' | 'values', number>>;
  private count = 0;

  /** @param isBody whether operands are JSON, of which nothing is converted, rather than texts of a URL */
  constructor(private readonly isBody: boolean) {
    this.limits = isBody ? BODY_LIMITS : QUERY_LIMITS;
  }

  /** The condition; none if it is invalid. @param name of the operand, for messages */
  read(
    field: FilterField,
    operatorName: string,
    operand: unknown,
    name: string,
    reject: (detail: string) => Where[],
  ): Where[] {
    const { conditions } = this.limits;
    const allowed = OPERATORS[field.kind];
    const operator = allowed.find((known) => known === operatorName);
    if (!operator) return reject(errorMessages.unknownOperator(field.path, operatorName, allowed));
    this.count += 1;
    if (this.count === conditions + 1) return reject(errorMessages.tooManyConditions(conditions));
    if (this.count > conditions) return [];
    const values = this.valuesOf(field, operator, operand);
    if (typeof values === 'string') return reject(errorMessages.wrongType(name, values));
    return [{ field, operator, values }];
  }

  /** The values of an operand, or the phrase that says what it must be. */
  private valuesOf(field: FilterField, operator: Operator, operand: unknown): readonly unknown[] | string {
    if (operator === 'exists') return typeof operand === 'boolean' ? [operand] : 'true or false';
    if (operator === 'contains' || operator === 'startsWith') {
      // The cheap bound comes first, so that most longer texts are not counted.
      const fits =
        typeof operand === 'string' && operand.length <= 2 * MAX_TEXT && [...operand].length <= MAX_TEXT;
      return fits ? [operand] : `a text of at most ${MAX_TEXT} characters`;
    }
    if (operator !== 'in' && operator !== 'nin') {
      const value = this.valueOf(field, operand, operator === 'eq' || operator === 'ne');
      return value === undefined ? this.shapeOf(field) : [value];
    }
    const max = this.limits.values;
    if (!Array.isArray(operand) || operand.length === 0 || operand.length > max)
      return `a list of 1 to ${max} values`;
    const values = operand.map((each) => this.valueOf(field, each, true));
    return values.includes(undefined) ? `a list of values, each ${this.shapeOf(field)}` : values;
  }

  /** A value of the store's type; undefined if it is of another one. */
  private valueOf({ parse, schema }: FilterField, value: unknown, allowsNull: boolean): unknown {
    if (this.isBody && value === null) return allowsNull ? null : undefined;
    return !this.isBody || typeof value === schema.type ? parse(String(value)) : undefined;
  }

  /** Noun phrase for the accepted values. */
  private shapeOf({ kind, schema, shape }: FilterField): string {
    if (!this.isBody) return shape;
    // Nothing is percent-encoded, and a number that may be beyond a double is a string.
    if (kind === 'timestamp') return shape.replace(/ \(.*\)$/, '');
    return kind === 'number' && schema.type === 'string' ? `${shape} in quotes` : shape;
  }
}

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
  const definition = definitions.get(options) ?? new CrudDefinition(options);
  definitions.set(options, definition);
  const field = filterFieldOf(definition, path);
  const type = valueTypeAt(definition.schema, path);
  const fail = (problem: string): never => {
    throw new Error(`conditionOf(${options.entity.name}, "${path}", "${operator}"): ${problem}`);
  };
  if (!field || !type) return fail('the field is no single value, nor a list of such.');
  const allowed: readonly string[] = OPERATORS[field.kind];
  if (!allowed.includes(operator)) fail(`the field has ${allowed.join(', ')}.`);
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

/** The predicates of a query's conditions and search. No other code turns client input into a filter. */
export function predicatesOf({ conditions = [], search }: ListQuery): StoreFilter[] {
  const asked = conditions.map((condition) => exactly(predicateOf(condition)));
  return [...asked, ...(search ? searchPredicates(search) : [])];
}

function predicateOf(where: Where): StoreFilter {
  if ('not' in where) return { $nor: [predicateOf(where.not)] };
  if ('or' in where) return { $or: where.or.map(predicateOf) };
  // The store takes no empty list.
  if ('and' in where) return where.and.length === 0 ? {} : { $and: where.and.map(predicateOf) };
  return conditionPredicate(where);
}

function conditionPredicate({ field: { path, within }, operator, values }: Condition): StoreFilter {
  const [value] = values;
  if (operator !== 'exists') return { [path]: matcherOf(operator, values) };
  if (within === undefined) return { [path]: value ? { $ne: null } : { $eq: null } };
  // Through a list of objects, `$ne` would require that no entry lacks the field.
  const entry = { $elemMatch: { [path.slice(within.length + 1)]: { $ne: null } } };
  return { [within]: value ? entry : { $not: entry } };
}

/** An operator in terms of the store. For a list, `ne` and `nin` require that no entry matches, as in MongoDB. */
function matcherOf(operator: Exclude<Operator, 'exists'>, values: readonly unknown[]): object {
  const [value] = values;
  if (operator === 'contains') return { $regex: literalPattern(String(value)) };
  if (operator === 'startsWith') return { $regex: `^${literalPattern(String(value))}` };
  return { [`$${operator}`]: operator === 'in' || operator === 'nin' ? values : value };
}

/** Maximum length of a text to look for inside another one. Unit: characters (Unicode code points). */
const MAX_TEXT = 1_000;

const LETTER = /^\p{Changes_When_Casemapped}$/u;

/** Every letter with case. Found at first use: it takes some milliseconds, which should not delay the start. */
let letters: string | undefined;

const patterns = new Map<string, string>();

/**
 * A pattern that matches a text literally, ignoring case. Case is folded here, by Unicode's simple case
 * folding, since databases follow different versions of Unicode.
 *
 * @see https://www.unicode.org/reports/tr44/#CaseFolding.txt
 */
function literalPattern(text: string): string {
  return text.replaceAll(/./gsu, (one) => (LETTER.test(one) ? anyCase(one) : escaped(one)));
}

function escaped(character: string): string {
  // MongoDB does not accept a pattern that contains NUL.
  if (character === '\0') return String.raw`\x00`;
  return /[\\^$.*+?()[\]{}|]/.test(character) ? `\\${character}` : character;
}

/** A character class of the letters that differ from one only in case. */
function anyCase(letter: string): string {
  // They are in the first two planes of Unicode.
  letters ??= Array.from({ length: 0x2_0000 }, (_, point) => String.fromCodePoint(point))
    .filter((character) => LETTER.test(character))
    .join('');
  const pattern = patterns.get(letter) ?? `[${letters.match(new RegExp(letter, 'giu'))?.join('')}]`;
  patterns.set(letter, pattern);
  return pattern;
}
