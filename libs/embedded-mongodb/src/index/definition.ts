import { BSONRegExp, Int32 } from 'bson';
import { describe, describeDocument } from '../bson/describe.js';
import { valuesEqual } from '../bson/compare.js';
import { toDouble } from '../bson/numbers.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber, typeName } from '../bson/types.js';
import { CommandError, failure, unsupported } from '../errors.js';
import { compileFilter, type Filter } from '../query/filter.js';
import type { KeyField } from './keys.js';

/** An index as `createIndexes` describes it, checked and understood. */
export interface IndexDefinition {
  name: string;
  /** What {@link parseIndex} was given. */
  given: BsonDocument;
  /** As `listIndexes` shows it. */
  spec: BsonDocument;
  /** The key pattern as it was given. */
  key: BsonDocument;
  /** The components, in their order. */
  fields: KeyField[];
  unique: boolean;
  sparse: boolean;
  /** Only documents that match are in the index. */
  partial?: Filter;
  /** Age at which a document is removed. Unit: seconds. */
  expireAfterSeconds?: number;
}

/** Options that change nothing here, kept so that listIndexes shows them. */
const ignoredOptions = ['background', 'storageEngine', 'dropDups', 'ns'];
const knownOptions = new Set([
  ...[
    'v',
    'key',
    'name',
    'unique',
    'sparse',
    'expireAfterSeconds',
    'partialFilterExpression',
    'hidden',
    'collation',
  ],
  ...['prepareUnique', 'clustered', 'wildcardProjection', 'bits', 'min', 'max', '2dsphereIndexVersion'],
  ...ignoredOptions,
  ...['weights', 'default_language', 'language_override', 'textIndexVersion'],
]);
const plugins = new Set(['text', 'hashed', '2d', '2dsphere', 'geoHaystack']);
/** Operators that a partialFilterExpression may use. */
const partialOperators = new Set([
  '$eq',
  '$gt',
  '$gte',
  '$lt',
  '$lte',
  '$in',
  '$type',
  '$exists',
  '$and',
  '$or',
]);

/**
 * @throws CommandError CannotCreateIndex (67), FailedToParse (9) and others, as MongoDB words them.
 * @see https://www.mongodb.com/docs/manual/reference/command/createIndexes/
 */
export function parseIndex(given: BsonDocument): IndexDefinition {
  const inSpecification = (error: unknown): never => {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(
      error.code,
      error.codeName,
      `Error in specification ${describeDocument(given)} :: caused by :: ${error.message}`,
    );
  };
  try {
    const expression = given.get('partialFilterExpression');
    if (isDocument(expression)) checkPartial(expression);
    return storedIndex(given);
  } catch (error) {
    return inSpecification(error);
  }
}

/** An index that has been parsed before, and is not refused for what is checked only since then. */
export function storedIndex(given: BsonDocument): IndexDefinition {
  for (const option of given.keys()) {
    if (!knownOptions.has(option)) throw invalidOption(option, given, 'an index specification');
  }
  const key = given.get('key');
  if (key === undefined)
    throw failure('FailedToParse', `The 'key' field is a required property of an index specification`);
  if (!isDocument(key))
    throw failure('TypeMismatch', `The field 'key' must be an object, but got ${typeName(key)}`);
  const name = given.get('name');
  if (name === undefined) {
    throw failure('FailedToParse', `The 'name' field is a required property of an index specification`);
  }
  if (typeof name !== 'string')
    throw failure('TypeMismatch', `The field 'name' must be a string, but got ${typeName(name)}`);
  if (name === '*') throw failure('BadValue', `The index name '*' is not valid.`);
  if (name === '') throw failure('CannotCreateIndex', 'index name cannot be empty');
  checkKey(key);
  refuseUnsupported(given);
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

/** Whether a key pattern is that of the index that every collection has. */
export function isIdKey(key: BsonDocument): boolean {
  const order = key.get('_id');
  return key.size === 1 && isNumber(order) && toDouble(order) === 1;
}

/** The index that every collection has. */
export function idIndex(): IndexDefinition {
  const key: BsonDocument = new Map([['_id', new Int32(1)]]);
  const spec: BsonDocument = new Map<string, BsonValue>([
    ['v', new Int32(2)],
    ['key', key],
    ['name', '_id_'],
  ]);
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
 * Whether a requested index exists already.
 *
 * @throws CommandError IndexOptionsConflict (85) or IndexKeySpecsConflict (86) when it contradicts an existing one.
 */
export function alreadyExists(wanted: IndexDefinition, existing: readonly IndexDefinition[]): boolean {
  const both = (other: IndexDefinition): string =>
    `Requested index: ${describeDocument(wanted.spec)}, existing index: ${describeDocument(other.spec)}`;
  const sameName = existing.find((each) => each.name === wanted.name);
  if (sameName) {
    if (!sameSignature(wanted, sameName)) {
      throw failure(
        'IndexKeySpecsConflict',
        `An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Please refer to our documentation. ${both(sameName)}`,
      );
    }
    if (sameOptions(wanted, sameName)) return true;
    throw failure(
      'IndexOptionsConflict',
      `An equivalent index already exists with the same name but different options. ${both(sameName)}`,
    );
  }
  if (isIdKey(wanted.key)) return true;
  const sameKey = existing.find((each) => sameSignature(wanted, each));
  if (!sameKey) return false;
  if (sameOptions(wanted, sameKey)) {
    throw failure('IndexOptionsConflict', `Index already exists with a different name: ${sameKey.name}`);
  }
  throw failure(
    'IndexOptionsConflict',
    `An equivalent index already exists with a different name and options. ${both(sameKey)}`,
  );
}

/** What tells two indexes of one collection apart. */
function sameSignature(a: IndexDefinition, b: IndexDefinition): boolean {
  const part = (index: IndexDefinition): BsonValue => index.spec.get('partialFilterExpression') ?? null;
  return (
    valuesEqual(a.spec.get('key') ?? null, b.spec.get('key') ?? null) &&
    a.unique === b.unique &&
    a.sparse === b.sparse &&
    valuesEqual(part(a), part(b))
  );
}

function sameOptions(a: IndexDefinition, b: IndexDefinition): boolean {
  return a.expireAfterSeconds === b.expireAfterSeconds;
}

function checkKey(key: BsonDocument): void {
  if (key.size === 0) throw failure('CannotCreateIndex', 'Index keys cannot be empty.');
  for (const [path, order] of key) {
    if (isNumber(order)) {
      const direction = toDouble(order);
      if (Number.isNaN(direction))
        throw failure('CannotCreateIndex', 'Values in the index key pattern cannot be NaN.');
      if (direction === 0) throw failure('CannotCreateIndex', 'Values in the index key pattern cannot be 0.');
    } else if (typeof order !== 'string') {
      throw failure(
        'CannotCreateIndex',
        `Values in v:2 index key pattern cannot be of type ${typeName(order)}. Only numbers > 0, numbers < 0, and strings are allowed.`,
      );
    } else if (!plugins.has(order)) {
      throw failure('CannotCreateIndex', `Unknown index plugin '${order}'`);
    } else {
      throw unsupported(`The index type ${order}`);
    }
    checkPath(path);
  }
}

function checkPath(path: string): void {
  if (path === '') throw failure('CannotCreateIndex', 'Index keys cannot be an empty field.');
  if (path.split('.').some((name) => name === '$**')) throw unsupported('A wildcard index');
  if (path.split('.').includes(''))
    throw failure('CannotCreateIndex', 'Index keys cannot contain an empty field.');
  if (path.split('.').some((name) => name.startsWith('$'))) {
    throw failure(
      'CannotCreateIndex',
      `Index key contains an illegal field name: field name starts with '$'.`,
    );
  }
}

function refuseUnsupported(given: BsonDocument): void {
  const collation = given.get('collation');
  if (isDocument(collation) && collation.get('locale') !== 'simple') throw unsupported('A collation');
  for (const option of ['hidden', 'prepareUnique', 'clustered']) {
    if (flag(given, option)) throw unsupported(`The index option ${option}`);
  }
}

function checkIdIndex(key: BsonDocument, given: BsonDocument): void {
  if (!isIdKey(key)) {
    throw failure(
      'BadValue',
      `The field 'key' for an _id index must be {_id: 1}, but got ${describeDocument(key)}`,
    );
  }
  for (const option of given.keys()) {
    if (!['v', 'key', 'name', 'ns', 'background', 'collation'].includes(option)) {
      throw invalidOption(option, given, 'an _id index specification');
    }
  }
}

function invalidOption(option: string, given: BsonDocument, where: string): CommandError {
  return new CommandError(
    197,
    'InvalidIndexSpecificationOption',
    `The field '${option}' is not valid for ${where}. Specification: ${describeDocument(given)}`,
  );
}

function flag(given: BsonDocument, option: string): boolean {
  const value = given.get(option);
  if (value === undefined) return false;
  if (typeof value === 'boolean') return value;
  if (isNumber(value)) return toDouble(value) !== 0;
  throw failure(
    'TypeMismatch',
    `The field '${option}' has value ${describe(value)}, which is not convertible to bool`,
  );
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
    throw failure(
      'TypeMismatch',
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

/** In the order in which listIndexes shows it. */
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
