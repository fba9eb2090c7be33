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
  MAX_CONDITIONS,
  MAX_VALUES,
  type Operator,
  OPERATORS,
  PARAMETERS,
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

/** Reads the parameters that are filters, strictly: operators of the field's type, with values of that type. */
export function readConditions(
  filters: Filters,
  parameters: readonly (readonly [name: string, text: string])[],
  violations: Violation[],
): Condition[] {
  const conditions: Condition[] = [];
  for (const [parameter, text] of parameters) {
    const named = filterNamed(filters, parameter);
    if (!named) continue;
    const { field } = named;
    const operator = OPERATORS[field.kind].find((known) => known === named.operator);
    const values = operator && valuesOf(field, operator, text);
    if (operator && typeof values === 'object') conditions.push({ field, operator, values });
    else violations.push({ parameter, detail: typeof values === 'string' ? values : unknownOperator(named) });
  }
  if (conditions.length > MAX_CONDITIONS) {
    const parameter = parameters.findLast(([name]) => filterNamed(filters, name))?.[0] ?? '';
    violations.push({ parameter, detail: errorMessages.tooManyConditions(MAX_CONDITIONS) });
  }
  return conditions;
}

function unknownOperator({ field, operator }: { field: FilterField; operator: string }): string {
  return errorMessages.unknownOperator(field.path, operator, OPERATORS[field.kind]);
}

/** The values of a text for an operator, or the message that says what the text must be. */
function valuesOf(field: FilterField, operator: Operator, text: string): readonly unknown[] | string {
  if (operator === 'exists') {
    if (text === 'true' || text === 'false') return [text === 'true'];
    return errorMessages.wrongParameter(`${field.path}[exists]`, 'true or false');
  }
  const isList = operator === 'in' || operator === 'nin';
  const texts = isList ? splitList(text) : [text];
  const name = operator === 'eq' ? field.path : `${field.path}[${operator}]`;
  if ((operator === 'contains' || operator === 'startsWith') && isTooLong(text)) {
    return errorMessages.wrongParameter(name, `a text of at most ${MAX_TEXT} characters`);
  }
  if (texts.length > MAX_VALUES) return errorMessages.tooManyValues(name, MAX_VALUES);
  const values = texts.map((each) => field.parse(each));
  if (!values.includes(undefined)) return values;
  return errorMessages.wrongParameter(name, isList ? `a list of values, each ${field.shape}` : field.shape);
}

/** Whether a text is too long to look for. The cheap bound comes first, so that most such texts are not counted. */
export function isTooLong(text: string): boolean {
  return text.length > 2 * MAX_TEXT || [...text].length > MAX_TEXT;
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
export const MAX_TEXT = 1_000;

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
