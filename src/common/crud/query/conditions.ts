import { errorMessages, type Violation } from '../../errors/index.js';
import { splitList } from '../../fields/index.js';
import type { FilterField } from '../definition/query-definition.js';
import { searchPredicates } from '../search/search.js';
import type { StoreFilter } from '../store/crud.store.js';
import { exactly } from '../store/shared-reads.js';
import {
  type Condition,
  type ListQuery,
  MAX_CONDITIONS,
  MAX_VALUES,
  type Operator,
  OPERATORS,
  type Where,
} from './list-query.js';

type Filters = ReadonlyMap<string, FilterField>;

/** `field` or `field[operator]`. */
const PARAMETER = /^([^[\]]+)(?:\[([^[\]]*)\])?$/;

/** Names of query parameters. A field with such a name needs brackets to be filtered by, such as `limit[eq]`. */
const RESERVED = new Set([
  'offset',
  'limit',
  'after',
  'before',
  'count',
  'sort',
  'fields',
  'q',
  'archived',
  'expand',
]);

/** Whether a field cannot be filtered by in the short form, because its name is a parameter. */
export function needsOperator(path: string): boolean {
  return RESERVED.has(path);
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
  if (operator !== 'exists') return { [path]: MATCHERS[operator](value, values) };
  if (within === undefined) return { [path]: value ? { $ne: null } : { $eq: null } };
  // Through a list of objects, `$ne` would require that no entry lacks the field.
  const entry = { $elemMatch: { [path.slice(within.length + 1)]: { $ne: null } } };
  return { [within]: value ? entry : { $not: entry } };
}

type Matcher = (value: unknown, values: readonly unknown[]) => object;

/** Operators in terms of the store. For a list, `ne` and `nin` require that no entry matches, as in MongoDB. */
const MATCHERS: Readonly<Record<Exclude<Operator, 'exists'>, Matcher>> = {
  eq: (value) => ({ $eq: value }),
  ne: (value) => ({ $ne: value }),
  gt: (value) => ({ $gt: value }),
  gte: (value) => ({ $gte: value }),
  lt: (value) => ({ $lt: value }),
  lte: (value) => ({ $lte: value }),
  in: (_, values) => ({ $in: values }),
  nin: (_, values) => ({ $nin: values }),
  contains: (value) => ({ $regex: literalPattern(String(value)) }),
  startsWith: (value) => ({ $regex: `^${literalPattern(String(value))}` }),
};

/** Maximum length of a text to look for inside another one. Unit: characters (Unicode code points). */
export const MAX_TEXT = 1_000;

/** Letters with case are in the first two planes of Unicode. */
const LAST_CASED = 0x1_ffff;

/** Number of code points to examine at a time, small enough to be the arguments of one call. */
const PART = 0x4000;

/** Letters whose other case is another letter. */
const CASED = /\p{Changes_When_Casemapped}/gu;

/**
 * Two letters that differ only in case. The other case of some letters is several characters, or that of
 * another letter.
 */
const SAME_LETTER = /^(.)\1$/iu;

/** Made at first use: it takes some milliseconds, which should not delay the start. */
let classes: ReadonlyMap<string, string> | undefined;

/**
 * A pattern that matches a text literally, ignoring case. Case is folded here, by Unicode's simple case
 * folding, since databases follow different versions of Unicode.
 *
 * @see https://www.unicode.org/reports/tr44/#CaseFolding.txt
 */
function literalPattern(text: string): string {
  classes ??= findClasses();
  const known = classes;
  return [...text].map((character) => known.get(character) ?? escaped(character)).join('');
}

function escaped(character: string): string {
  // MongoDB does not accept a pattern that contains NUL.
  if (character === '\0') return String.raw`\x00`;
  return /[\\^$.*+?()[\]{}|]/.test(character) ? `\\${character}` : character;
}

/** A character class of the letters that differ only in case, for each of them. */
function findClasses(): ReadonlyMap<string, string> {
  const groups = new Map<string, Set<string>>();
  for (let from = 0; from <= LAST_CASED; from += PART) {
    const part = String.fromCodePoint(...Array.from({ length: PART }, (_, i) => from + i));
    for (const letter of part.match(CASED) ?? []) {
      for (const other of [letter.toLowerCase(), letter.toUpperCase()]) {
        if (other !== letter && SAME_LETTER.test(letter + other)) join(groups, letter, other);
      }
    }
  }
  return new Map([...groups].map(([letter, group]) => [letter, `[${[...group].join('')}]`]));
}

function join(groups: Map<string, Set<string>>, letter: string, other: string): void {
  const group = new Set([...(groups.get(letter) ?? [letter]), ...(groups.get(other) ?? [other])]);
  for (const member of group) groups.set(member, group);
}
