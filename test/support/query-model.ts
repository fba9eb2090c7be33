import { listed, type OPERATORS, takesList } from './query-words.js';

/** What a query says of the records that it wants, as a test made it up. */
export interface ModelQuery {
  conditions: ModelCondition[];
  /** Keys such as `-createdAt`. */
  sort: string[];
  fields?: string[];
  window?: { offset: number; limit: number };
}

export interface ModelCondition {
  field: ModelField;
  operator: string;
  /** Values as they are stored in the model; in a body, also null. */
  values: (ModelValue | null)[];
}

export type ModelWhere = ModelCondition | { and: ModelWhere[] } | { or: ModelWhere[] } | { not: ModelWhere };

/** A value of a record: timestamps and decimals are numbers, identifiers texts. */
export type ModelValue = string | number | boolean;
export type ModelRecord = Record<string, unknown> & { _id: string };

export interface ModelField {
  path: string;
  kind: keyof typeof OPERATORS;
  /** Values that records have, and a query asks for. */
  pool: readonly ModelValue[];
  /** A value as a URL says it. @default String(value) */
  write?: (value: ModelValue) => string;
  /** Whether JSON has the values as texts, although they are numbers. */
  isText?: boolean;
}

/** The records that a query is answered with, by the rules of the grammar alone. */
export const selected = (records: readonly ModelRecord[], { conditions, sort }: ModelQuery) =>
  selectedWhere(records, { and: conditions }, sort);

/** The records that a query in a body is answered with, in the given order. */
export const selectedWhere = (records: readonly ModelRecord[], where: ModelWhere, sort: string[]) =>
  records.filter((record) => holdsWhere(record, where)).sort((a, b) => compareBy(sort, a, b));

function holdsWhere(record: ModelRecord, where: ModelWhere): boolean {
  if ('and' in where) return where.and.every((one) => holdsWhere(record, one));
  if ('or' in where) return where.or.some((one) => holdsWhere(record, one));
  return 'not' in where ? !holdsWhere(record, where.not) : holds(record, where);
}

/** Whether a record, or an entry of a list on the way, has nothing at a path. */
function lacks(value: unknown, path: readonly string[]): boolean {
  if (value === undefined || value === null) return true;
  if (Array.isArray(value)) return value.some((entry) => lacks(entry, path));
  const [name, ...rest] = path;
  return name !== undefined && lacks((value as Record<string, unknown>)[name], rest);
}

function holds(record: ModelRecord, { field, operator, values }: ModelCondition): boolean {
  const path = field.path.split('.');
  const found = valuesAt(record, path);
  const entries = found.flat().filter((value) => value !== null) as ModelValue[];
  const [value = ''] = values;
  const some = (test: (order: number) => boolean) => entries.some((entry) => test(compare(entry, value)));
  const isOne = () =>
    entries.some((entry) => values.includes(entry)) || (values.includes(null) && lacks(record, path));
  const matches = (start: string) =>
    entries.some((entry) => new RegExp(start + literal(String(value)), 'iu').test(String(entry)));
  const results: Record<string, () => boolean> = {
    eq: isOne,
    in: isOne,
    ne: () => !isOne(),
    nin: () => !isOne(),
    gt: () => some((order) => order > 0),
    gte: () => some((order) => order >= 0),
    lt: () => some((order) => order < 0),
    lte: () => some((order) => order <= 0),
    exists: () => found.some((one) => one !== null) === value,
    contains: () => matches(''),
    startsWith: () => matches('^'),
  };
  return results[operator]?.() ?? false;
}

/** What a path leads to: one value, or one of each entry of a list of objects. */
function valuesAt(value: unknown, [name, ...rest]: readonly string[]): unknown[] {
  if (value === undefined || value === null) return [];
  if (name === undefined) return [value];
  if (Array.isArray(value)) return value.flatMap((entry) => valuesAt(entry, [name, ...rest]));
  return valuesAt((value as Record<string, unknown>)[name], rest);
}

const literal = (text: string) =>
  text.replace(/[\\^$.*+?()[\]{}|/-]/g, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);

function compareBy(sort: readonly string[], a: ModelRecord, b: ModelRecord): number {
  const keys = [...sort, sort.at(-1)?.startsWith('-') ? '-_id' : '_id'];
  for (const key of keys) {
    const path = key.replace(/^-/, '').split('.');
    const order = compare(valuesAt(a, path)[0], valuesAt(b, path)[0]);
    if (order !== 0) return key.startsWith('-') ? -order : order;
  }
  return 0;
}

/** Nothing comes first; texts are ordered by code point, as their bytes in UTF-8 are. */
function compare(a: unknown, b: unknown): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  if (typeof a === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(String(b)));
  return Number(a) - Number(b);
}

export function written(query: ModelQuery, short: (i: number) => boolean): string {
  const { conditions, sort, fields, window } = query;
  const filters = conditions.map(({ field: { path, write = String }, operator, values }, i) => {
    const name = operator === 'eq' && short(i) ? path : `${path}[${operator}]`;
    const texts = values.map((value) =>
      operator === 'exists' || value === null ? String(value) : write(value),
    );
    return [name, takesList(operator) ? listed(texts) : texts[0]];
  });
  const others = { sort: sort.join(), fields: fields?.join(), offset: window?.offset, limit: window?.limit };
  return [...filters, ...Object.entries(others).filter(([, value]) => value !== undefined)]
    .map((pair) => pair.map((part) => encodeURIComponent(String(part))).join('='))
    .join('&');
}

export function writtenWhere(where: ModelWhere): object {
  if ('and' in where) return { and: where.and.map(writtenWhere) };
  if ('or' in where) return { or: where.or.map(writtenWhere) };
  if ('not' in where) return { not: writtenWhere(where.not) };
  const { field, operator, values } = where;
  const { path, write = String, isText = field.kind === 'timestamp' || field.kind === 'identifier' } = field;
  const isWritten = isText && operator !== 'exists';
  const operands = values.map((value) => (value === null || !isWritten ? value : write(value)));
  return { [path]: { [operator]: takesList(operator) ? operands : operands[0] } };
}
