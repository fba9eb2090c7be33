import type { SchemaType } from 'mongoose';
import { errorMessages, toPointer, ValidationError } from '../../errors/index.js';
import { fieldAt } from '../../fields/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import { SCALARS } from '../definition/query-definition.js';
import type { ListQuery } from '../query/list-query.js';
import type { Framing } from './record-stream.js';

/** Media type of comma-separated values (RFC 4180). */
export const CSV_TYPE = 'text/csv';

/**
 * Writes the records of a list as comma-separated values: a line of names, and one line per record. Lists and objects
 * have no place in a cell and are left out.
 *
 * @throws ValidationError if the query asks for a field that has no place, or for whole records in place of references
 */
export function csvOf(definition: CrudDefinition, { fields, expand, isBody }: ListQuery = {}): Framing {
  const reject = (parameter: string, detail: string) => {
    const at = isBody ? { pointer: toPointer([parameter]) } : { parameter };
    throw new ValidationError([{ ...at, detail }]);
  };
  if (expand) reject('expand', errorMessages.exclusiveParameters('expand', CSV_TYPE));
  const nested = fields?.find((name) => !isFlat(definition, name));
  if (nested !== undefined) reject('fields', errorMessages.notFlat(nested));
  const isAsked = (name: string) => name === '_id' || (fields?.includes(name) ?? true);
  const columns = definition.shownFields.filter((name) => isAsked(name) && isFlat(definition, name));
  const numbers = columns.filter((name) => typeOf(definition, name)?.instance === 'Decimal128');
  return {
    type: CSV_TYPE,
    open: `${columns.map((name) => cellOf(name)).join(',')}\r\n`,
    between: '',
    after: '\r\n',
    close: '',
    write: (record) =>
      columns
        .map((name) => cellOf((record as Record<string, unknown>)[name], numbers.includes(name)))
        .join(','),
  };
}

/** Whether a field has single values. */
function isFlat(definition: CrudDefinition, name: string): boolean {
  const { output, schema } = definition;
  const { list, nested } = (output?.type && fieldAt(output.type, name)) ?? {};
  if (list || nested) return false;
  const type = typeOf(definition, name);
  return type ? type.instance in SCALARS || type.instance === 'UUID' : schema.pathType(name) !== 'nested';
}

function typeOf({ schema }: CrudDefinition, name: string): SchemaType | undefined {
  return schema.path(name) as SchemaType | undefined;
}

/** A spreadsheet takes such a text for a formula (https://owasp.org/www-community/attacks/CSV_Injection). */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

/** @param isNumber whether a text is a decimal number, which is no formula */
function cellOf(value: unknown, isNumber = false): string {
  if (value === undefined || value === null) return '';
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'object') return cellOf(JSON.stringify(value));
  if (typeof value !== 'string') return String(value);
  const text = FORMULA.test(value) && !isNumber ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
