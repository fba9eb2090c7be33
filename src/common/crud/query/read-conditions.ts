import { errorMessages, type Violation } from '../../errors/index.js';
import type { FilterField } from '../definition/filter-field.js';
import { MAX_TEXT } from './filter-of.js';
import { type Condition, MAX_CONDITIONS, MAX_VALUES, type Operator, OPERATORS } from './list-query.js';

type Filters = ReadonlyMap<string, FilterField>;

/** `field` or `field[operator]`. */
const PARAMETER = /^([^[\]]+)(?:\[([^[\]]*)\])?$/;

/**
 * Names of query parameters. A field with such a name needs brackets to be filtered by, such as `limit[eq]`.
 */
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

/**
 * Reads the parameters that are filters, strictly: operators of the field's type, with values of that type.
 */
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

/** The values of a text for an operator, or the sentence that says what the text must be. */
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

/** Checks the cheap bound first, so that a text that can only be too long is not counted. */
function isTooLong(text: string): boolean {
  return text.length > 2 * MAX_TEXT || [...text].length > MAX_TEXT;
}

/** Splits at commas. `\,` is a comma inside a value, and `\\` is a backslash. */
export function splitList(text: string): string[] {
  const values = [''];
  for (const [part] of text.matchAll(/\\[\\,]|,|[^\\,]+|\\/g)) {
    if (part === ',') values.push('');
    else values[values.length - 1] += part.length === 2 && part.startsWith('\\') ? part.slice(1) : part;
  }
  return values;
}
