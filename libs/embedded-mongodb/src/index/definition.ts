import { BSONRegExp, Int32 } from 'bson';
import { describe, describeDocument } from '../bson/describe.js';
import { valuesEqual } from '../bson/compare.js';
import { toDouble } from '../bson/numbers.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber, toBson, typeName } from '../bson/types.js';
import { CommandError, badValue, failure, typeMismatch, unsupported } from '../errors.js';
import { compileFilter, type Filter } from '../query/filter.js';
import type { KeyField } from './keys.js';

/** An index as `createIndexes` describes it, validated and parsed. */
export interface IndexDefinition {
  name: string;
  /** The argument of {@link parseIndex}. */
  given: BsonDocument;
  /** As `listIndexes` shows it. */
  spec: BsonDocument;
  /** The key pattern as given. */
  key: BsonDocument;
  /** The components, in order. */
  fields: KeyField[];
  unique: boolean;
  sparse: boolean;
  /** Only documents that match are in the index. */
  partial?: Filter;
  /** Age at which a document is removed. Unit: seconds. */
  expireAfterSeconds?: number;
}

/**
 * The options of an index. The last four have no effect here, and are kept so that listIndexes shows them.
 */
const knownOptions = new Set(
  'v key name unique sparse expireAfterSeconds partialFilterExpression collation background storageEngine dropDups ns'.split(
    ' ',
  ),
);
/** Operators that a partialFilterExpression may use. */
const partialOperators = new Set('$eq $gt $gte $lt $lte $in $type $exists $and $or'.split(' '));

/**
 * @throws CommandError CannotCreateIndex (67), FailedToParse (9) and others, with MongoDB's messages.
 * @see https://www.mongodb.com/docs/manual/reference/command/createIndexes/
 */
export function parseIndex(given: BsonDocument): IndexDefinition {
  try {
    const expression = given.get('partialFilterExpression');
    if (isDocument(expression)) checkPartial(expression);
    return storedIndex(given);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const message = `Error in specification ${describeDocument(given)} :: caused by :: ${error.message}`;
    throw new CommandError(error.code, error.codeName, message);
  }
}

/** Parses an index that was accepted before, without checks that were added since. */
export function storedIndex(given: BsonDocument): IndexDefinition {
  const stray = [...given].find(([option, value]) => !knownOptions.has(option) && value !== false);
  if (stray) throw unsupported(`The index option ${stray[0]}`);
  const [key, name, collation] = ['key', 'name', 'collation'].map((option) => given.get(option));
  if (!isDocument(key)) throw wrongOption('key', key, 'object');
  if (typeof name !== 'string') throw wrongOption('name', name, 'string');
  if (name === '*') throw badValue(`The index name '*' is not valid.`);
  if (name === '') throw failure('CannotCreateIndex', 'index name cannot be empty');
  if (isDocument(collation) && collation.get('locale') !== 'simple') throw unsupported('A collation');
  checkKey(key);
  const definition: IndexDefinition = {
    name,
    key,
    given,
    spec: normalize(given),
    fields: [...key].map(([path, order]) => ({ path, descending: isNumber(order) && toDouble(order) < 0 })),
    unique: flag(given, 'unique'),
    sparse: flag(given, 'sparse'),
    partial: partialFilter(given),
    expireAfterSeconds: timeToLive(key, given),
  };
  if (key.size === 1 && key.has('_id')) checkIdIndex(key, given);
  return definition;
}

/** Whether a key pattern is that of the `_id` index, which every collection has. */
export function isIdKey(key: BsonDocument): boolean {
  const order = key.get('_id');
  return key.size === 1 && isNumber(order) && toDouble(order) === 1;
}

/** The `_id` index, which every collection has. */
export function idIndex(): IndexDefinition {
  const key: BsonDocument = new Map([['_id', new Int32(1)]]);
  const spec = toBson({ v: 2, key, name: '_id_' });
  return {
    name: '_id_',
    given: spec,
    key,
    spec,
    fields: [{ path: '_id', descending: false }],
    unique: true,
    sparse: false,
  };
}

/**
 * Whether a requested index already exists.
 *
 * @throws CommandError IndexOptionsConflict (85) or IndexKeySpecsConflict (86) if it contradicts an existing
 * one.
 */
export function alreadyExists(wanted: IndexDefinition, existing: readonly IndexDefinition[]): boolean {
  const other =
    existing.find(({ name }) => name === wanted.name) ?? existing.find((each) => sameSignature(wanted, each));
  if (!other) return false;
  const sameName = other.name === wanted.name;
  if (!sameSignature(wanted, other)) {
    throw failure(
      'IndexKeySpecsConflict',
      `An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Please refer to our documentation. ${both(wanted, other)}`,
    );
  }
  const sameOptions = wanted.expireAfterSeconds === other.expireAfterSeconds;
  if (sameName && sameOptions) return true;
  throw failure(
    'IndexOptionsConflict',
    sameOptions
      ? `Index already exists with a different name: ${other.name}`
      : `An equivalent index already exists with ${sameName ? 'the same name but different' : 'a different name and'} options. ${both(wanted, other)}`,
  );
}

function both(wanted: IndexDefinition, other: IndexDefinition): string {
  return `Requested index: ${describeDocument(wanted.spec)}, existing index: ${describeDocument(other.spec)}`;
}

/** Whether two indexes have the same signature, so that a collection can have only one of them. */
function sameSignature(a: IndexDefinition, b: IndexDefinition): boolean {
  const part = (index: IndexDefinition): BsonValue => index.spec.get('partialFilterExpression') ?? null;
  return (
    valuesEqual(a.spec.get('key') ?? null, b.spec.get('key') ?? null) &&
    a.unique === b.unique &&
    a.sparse === b.sparse &&
    valuesEqual(part(a), part(b))
  );
}

function checkKey(key: BsonDocument): void {
  if (key.size === 0) throw failure('CannotCreateIndex', 'Index keys cannot be empty.');
  for (const [path, order] of key) {
    if (typeof order === 'string') throw unsupported(`The index type ${order}`);
    if (!isNumber(order)) {
      throw failure(
        'CannotCreateIndex',
        `Values in v:2 index key pattern cannot be of type ${typeName(order)}. Only numbers > 0, numbers < 0, and strings are allowed.`,
      );
    }
    const direction = toDouble(order);
    if (Number.isNaN(direction) || direction === 0)
      throw failure('CannotCreateIndex', `Values in the index key pattern cannot be ${direction}.`);
    checkPath(path);
  }
}

function checkPath(path: string): void {
  if (path === '') throw failure('CannotCreateIndex', 'Index keys cannot be an empty field.');
  const names = path.split('.');
  if (names.includes('$**')) throw unsupported('A wildcard index');
  if (names.includes('')) throw failure('CannotCreateIndex', 'Index keys cannot contain an empty field.');
  if (names.some((name) => name.startsWith('$')))
    throw failure(
      'CannotCreateIndex',
      `Index key contains an illegal field name: field name starts with '$'.`,
    );
}

function checkIdIndex(key: BsonDocument, given: BsonDocument): void {
  if (!isIdKey(key)) {
    throw badValue(`The field 'key' for an _id index must be {_id: 1}, but got ${describeDocument(key)}`);
  }
  const stray = [...given.keys()].find(
    (option) => !['v', 'key', 'name', 'ns', 'background', 'collation'].includes(option),
  );
  if (stray === undefined) return;
  throw new CommandError(
    197,
    'InvalidIndexSpecificationOption',
    `The field '${stray}' is not valid for an _id index specification. Specification: ${describeDocument(given)}`,
  );
}

/** The error for a required option that is missing or has another type. */
function wrongOption(option: string, value: BsonValue | undefined, type: string): CommandError {
  if (value === undefined)
    return failure('FailedToParse', `The '${option}' field is a required property of an index specification`);
  return typeMismatch(`The field '${option}' must be an ${type}, but got ${typeName(value)}`);
}

function flag(given: BsonDocument, option: string): boolean {
  const value = given.get(option);
  if (value === undefined) return false;
  if (typeof value === 'boolean') return value;
  if (isNumber(value)) return toDouble(value) !== 0;
  throw typeMismatch(`The field '${option}' has value ${describe(value)}, which is not convertible to bool`);
}

function timeToLive(key: BsonDocument, given: BsonDocument): number | undefined {
  const value = given.get('expireAfterSeconds');
  if (value === undefined) return undefined;
  const invalid = (reason: string): CommandError =>
    failure('CannotCreateIndex', `${reason}. Index spec: ${describeDocument(given)}`);
  if (!isNumber(value)) {
    throw invalid(
      `TTL index 'expireAfterSeconds' option must be numeric, but received a type of '${typeName(value)}'`,
    );
  }
  const seconds = toDouble(value);
  if (!(seconds >= 0)) throw invalid(`TTL index 'expireAfterSeconds' option cannot be less than 0`);
  if (seconds > 2_147_483_647)
    throw invalid(`TTL index 'expireAfterSeconds' option must be within an acceptable range`);
  if (key.size > 1)
    throw invalid('TTL indexes are single-field indexes, compound indexes do not support TTL');
  return Math.trunc(seconds);
}

function partialFilter(given: BsonDocument): Filter | undefined {
  const expression = given.get('partialFilterExpression');
  if (expression === undefined) return undefined;
  if (!isDocument(expression)) {
    throw typeMismatch(
      `The field 'partialFilterExpression' must be an object, but got ${typeName(expression)}`,
    );
  }
  if (flag(given, 'sparse')) {
    throw failure('CannotCreateIndex', 'cannot mix "partialFilterExpression" and "sparse" options');
  }
  if (isIdKey(given.get('key') as BsonDocument)) {
    throw failure('CannotCreateIndex', '_id index cannot be a partial index');
  }
  return compileFilter(expression);
}

function checkPartial(expression: BsonDocument): void {
  for (const [name, value] of expression) {
    if (name.startsWith('$') && !partialOperators.has(name)) {
      throw failure('CannotCreateIndex', `Expression not supported in partial index: ${name}`);
    }
    if (name === '$exists' && value !== true && !(isNumber(value) && toDouble(value) !== 0)) {
      throw failure('CannotCreateIndex', 'Expression not supported in partial index: $not\n    $exists');
    }
    if (!name.startsWith('$') && value instanceof BSONRegExp) {
      throw failure('CannotCreateIndex', `Expression not supported in partial index: ${name} regex`);
    }
    const inner = Array.isArray(value) && (name === '$and' || name === '$or') ? value : [value];
    for (const each of inner) if (isDocument(each)) checkPartial(each);
  }
}

/** Sorts the options as listIndexes shows them. */
function normalize(given: BsonDocument): BsonDocument {
  const placed = ['v', 'key', 'name', 'ns', 'unique', 'collation'];
  const rest = [...given].filter(([option]) => !placed.includes(option));
  return new Map<string, BsonValue>([
    ['v', given.get('v') ?? new Int32(2)],
    ['key', given.get('key') as BsonValue],
    ['name', given.get('name') as BsonValue],
    ...(flag(given, 'unique') ? [['unique', true] as [string, BsonValue]] : []),
    ...rest,
  ]);
}
