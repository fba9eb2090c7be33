import { errorMessages, type Violation } from '../../errors/index.js';
import { splitList } from '../../fields/index.js';
import { ARCHIVED_PARAMETER } from '../definition/archive.js';
import type { FilterField } from '../definition/query-definition.js';
import { searchPredicates } from '../search/search.js';
import type { StoreFilter } from '../store/store-types.js';
import { exactly } from '../store/shared-reads.js';
import {
  type Condition,
  type ListQuery,
  type Operator,
  OPERATORS,
  PARAMETERS,
  QUERY_LIMITS,
  type Where,
} from './list-query.js';

type Filters = ReadonlyMap<string, FilterField>;

/** `field` or `field[operator]`. */
const PARAMETER = /^([^[\]]+)(?:\[([^[\]]*)\])?$/;

/** Names of query parameters. A field with such a name needs brackets to be filtered by, such as `limit[eq]`. */
const RESERVED: readonly string[] = [...PARAMETERS.list, ARCHIVED_PARAMETER];

/** Whether a field cannot be filtered by in the short form, because its name is a parameter. */
export function needsOperator(path: string): boolean {
  return RESERVED.includes(path);
}

/** The field and operator that a parameter names, if it is a filter. The operator may not exist. */
export function filterNamed(filters: Filters, parameter: string) {
  const [, path = '', operator] = PARAMETER.exec(parameter) ?? [];
  const field = operator === undefined && needsOperator(path) ? undefined : filters.get(path);
  return field && { field, operator: operator ?? 'eq' };
}

/** How a kind of request writes conditions. */
export interface ConditionSyntax {
  readonly limits: { readonly conditions: number; readonly values: number };
  /** Converts a value to one of the store's type; undefined if that is not possible. */
  readonly valueOf: (field: FilterField, value: unknown, allowsNull: boolean) => unknown;
  /** Noun phrase for the accepted values. */
  readonly shapeOf: (field: FilterField) => string;
}

/** Where a condition stands in a request: its name there, and its place as violations tell it. */
type Place = { readonly name: string } & ({ readonly pointer: string } | { readonly parameter: string });

/** Reads the conditions of one query strictly: operators of the field's type, with values of that type. */
export class ConditionReader {
  private count = 0;

  constructor(
    private readonly syntax: ConditionSyntax,
    private readonly violations: Violation[],
  ) {}

  /** The condition; none if it is invalid, which adds to the violations. */
  read(field: FilterField, operatorName: string, operand: unknown, { name, ...place }: Place): Condition[] {
    const reject = (detail: string): Condition[] => {
      this.violations.push({ ...place, detail });
      return [];
    };
    const { limits } = this.syntax;
    const allowed = OPERATORS[field.kind];
    const operator = allowed.find((known) => known === operatorName);
    if (!operator) return reject(errorMessages.unknownOperator(field.path, operatorName, allowed));
    this.count += 1;
    if (this.count === limits.conditions + 1)
      return reject(errorMessages.tooManyConditions(limits.conditions));
    if (this.count > limits.conditions) return [];
    const values = this.valuesOf(field, operator, operand);
    if (typeof values === 'string') return reject(errorMessages.wrongType(name, values));
    return [{ field, operator, values }];
  }

  /** The values of an operand, or the phrase that says what it must be. */
  private valuesOf(field: FilterField, operator: Operator, operand: unknown): readonly unknown[] | string {
    const { limits, shapeOf, valueOf } = this.syntax;
    if (operator === 'exists') return typeof operand === 'boolean' ? [operand] : 'true or false';
    if (operator === 'contains' || operator === 'startsWith') {
      // The cheap bound comes first, so that most longer texts are not counted.
      const fits =
        typeof operand === 'string' && operand.length <= 2 * MAX_TEXT && [...operand].length <= MAX_TEXT;
      return fits ? [operand] : `a text of at most ${MAX_TEXT} characters`;
    }
    if (operator !== 'in' && operator !== 'nin') {
      const value = valueOf(field, operand, operator === 'eq' || operator === 'ne');
      return value === undefined ? shapeOf(field) : [value];
    }
    if (!Array.isArray(operand) || operand.length === 0 || operand.length > limits.values)
      return `a list of 1 to ${limits.values} values`;
    const values = operand.map((each) => valueOf(field, each, true));
    return values.includes(undefined) ? `a list of values, each ${shapeOf(field)}` : values;
  }
}

/** Conditions as parameters of a URL. */
const QUERY_STRING: ConditionSyntax = {
  limits: QUERY_LIMITS,
  valueOf: (field, text) => field.parse(String(text)),
  shapeOf: ({ shape }) => shape,
};

/** Reads the parameters that are filters. */
export function readConditions(
  filters: Filters,
  parameters: readonly (readonly [name: string, text: string])[],
  violations: Violation[],
): Condition[] {
  const reader = new ConditionReader(QUERY_STRING, violations);
  return parameters.flatMap(([parameter, text]) => {
    const named = filterNamed(filters, parameter);
    if (!named) return [];
    const { field, operator } = named;
    return reader.read(field, operator, operandOf(operator, text), { name: parameter, parameter });
  });
}

const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
]);

function operandOf(operator: string, text: string): unknown {
  if (operator === 'exists') return BOOLEANS.get(text);
  return operator === 'in' || operator === 'nin' ? splitList(text) : text;
}

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

/** Letters with case are in the first two planes of Unicode. */
const LAST_CASED = 0x1_ffff;

const LETTER = /^\p{Changes_When_Casemapped}$/u;

/** Every letter with case. Found at first use: it takes some milliseconds, which should not delay the start. */
let letters: string | undefined;

/** The patterns of those that were searched for. */
const patterns = new Map<string, string>();

/**
 * A pattern that matches a text literally, ignoring case. Case is folded here, by Unicode's simple case
 * folding, since databases follow different versions of Unicode.
 *
 * @see https://www.unicode.org/reports/tr44/#CaseFolding.txt
 */
function literalPattern(text: string): string {
  return [...text]
    .map((character) => (LETTER.test(character) ? anyCase(character) : escaped(character)))
    .join('');
}

function escaped(character: string): string {
  // MongoDB does not accept a pattern that contains NUL.
  if (character === '\0') return String.raw`\x00`;
  return /[\\^$.*+?()[\]{}|]/.test(character) ? `\\${character}` : character;
}

/** A character class of the letters that differ from one only in case. */
function anyCase(letter: string): string {
  letters ??= Array.from({ length: LAST_CASED + 1 }, (_, point) => String.fromCodePoint(point))
    .filter((character) => LETTER.test(character))
    .join('');
  const pattern = patterns.get(letter) ?? `[${letters.match(new RegExp(letter, 'giu'))?.join('')}]`;
  patterns.set(letter, pattern);
  return pattern;
}
