import { compareValues } from '../bson/compare.js';
import { toDouble } from '../bson/numbers.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber } from '../bson/types.js';
import { failure, failureAt, unsupported } from '../errors.js';
import { Double } from 'bson';
import { parsePath, type Path } from './path.js';
import { compoundKeys } from './sort-keys.js';

/** One field of a sort. */
export interface SortField {
  path: string;
  descending: boolean;
}

/** A compiled sort. */
export interface Sort {
  readonly fields: readonly SortField[];
  /** The values that decide a document's place, one per field. */
  key(document: BsonDocument): BsonValue[];
  /** Compares two keys, each field in its direction. */
  compare(a: readonly BsonValue[], b: readonly BsonValue[]): number;
}

/** The fields of a sort, checked as {@link compileSort} does. */
export function parseSort(spec: BsonDocument): SortField[] {
  return [...spec].map(([path, direction]) => parseField(path, direction));
}

/**
 * @throws CommandError 15975 for directions other than 1 and -1, and others as MongoDB words them.
 * @see https://www.mongodb.com/docs/manual/reference/method/cursor.sort/
 */
export function compileSort(spec: BsonDocument): Sort {
  const fields = parseSort(spec);
  const paths = fields.map((field) => parsePath(field.path));
  const compare = (a: readonly BsonValue[], b: readonly BsonValue[]): number => compareKeys(fields, a, b);
  return {
    fields,
    compare,
    key: (document) => leastKey(document, paths, compare),
  };
}

/** Sorts documents; documents with equal keys keep their order. */
export function sortDocuments(documents: Iterable<BsonDocument>, sort: Sort): BsonDocument[] {
  return Array.from(documents, (document) => ({ document, key: sort.key(document) }))
    .sort((a, b) => sort.compare(a.key, b.key))
    .map(({ document }) => document);
}

function parseField(path: string, direction: BsonValue): SortField {
  checkPath(path);
  if (isDocument(direction)) {
    const kind = direction.get('$meta');
    if (direction.size !== 1 || kind === undefined)
      throw failureAt(17312, '$meta is the only expression supported by $sort right now');
    throw unsupported(`Sorting by $meta ${String(kind)}`);
  }
  if (!isNumber(direction)) throw failureAt(15974, `Illegal key in $sort specification: ${path}`);
  const number = direction instanceof Double ? Math.trunc(direction.value) : toDouble(direction);
  if (number !== 1 && number !== -1) {
    throw failureAt(15975, '$sort key ordering must be 1 (for ascending) or -1 (for descending)');
  }
  return { path, descending: number === -1 };
}

function checkPath(path: string): void {
  if (path === '') throw failureAt(40352, 'FieldPath cannot be constructed with empty string');
  if (path.endsWith('.')) throw failureAt(40353, `FieldPath must not end with a '.'.`);
  if (path.split('.').includes('')) throw failureAt(15998, 'FieldPath field names may not be empty strings.');
  if (path.split('.').some((part) => part.startsWith('$'))) {
    throw failureAt(
      16410,
      `FieldPath field names may not start with '$'. Consider using $getField or $setField.`,
    );
  }
}

/** An array sorts by its least element going up and by its greatest going down, which is the first key in either case. */
function leastKey(
  document: BsonDocument,
  paths: readonly Path[],
  compare: (a: readonly BsonValue[], b: readonly BsonValue[]) => number,
): BsonValue[] {
  const keys = compoundKeys(document, paths, () => {
    throw failure('BadValue', 'cannot sort with keys that are parallel arrays');
  });
  return keys.reduce((least, key) => (compare(key, least) < 0 ? key : least));
}

function compareKeys(fields: readonly SortField[], a: readonly BsonValue[], b: readonly BsonValue[]): number {
  for (let slot = 0; slot < fields.length; slot++) {
    const result = compareValues(a[slot] as BsonValue, b[slot] as BsonValue);
    if (result !== 0) return fields[slot]?.descending ? -result : result;
  }
  return 0;
}
