import { BSONRegExp, Long } from 'bson';
import { compareValues, valuesEqual } from '../bson/compare.js';
import { toDouble, truncate } from '../bson/numbers.js';
import { describeDocument, describeField } from '../bson/describe.js';
import {
  type BsonArray,
  type BsonDocument,
  type BsonValue,
  isDocument,
  isNumber,
  typeName,
} from '../bson/types.js';
import { failure } from '../errors.js';
import { isTopLevelOperator } from '../query/field.js';
import { compileElementFilter } from '../query/filter.js';
import { namesReference } from '../query/reference.js';
import { describeId, keep, lastName, type Modifier } from './modifier.js';

type Order = (a: BsonValue, b: BsonValue) => number;

/** `$push`, with `$each`, `$position`, `$slice` and `$sort`. */
export function push(argument: BsonValue): Modifier {
  const clauses = isDocument(argument) && argument.has('$each') ? argument : new Map([['$each', [argument]]]);
  const { added, position, slice, order } = parsePush(clauses);
  return {
    missing: 'create',
    change(current, { document, path }) {
      if (current !== undefined && !Array.isArray(current)) {
        throw failure(
          'BadValue',
          `The field '${path}' must be an array but is of type ${typeName(current)} in document ${describeId(document)}`,
        );
      }
      const before = current ?? [];
      const at = position < 0 ? Math.max(0, before.length + position) : Math.min(position, before.length);
      let after: BsonArray = [...before.slice(0, at), ...added, ...before.slice(at)];
      if (order) after.sort(order);
      if (slice !== undefined) after = slice < 0 ? after.slice(slice) : after.slice(0, slice);
      // As in MongoDB, a sort counts as a change even of an array in order, unless it is empty.
      const sorted = order && after.length > 0;
      const untouched = added.length === 0 && !sorted && after.length === before.length;
      return current && untouched ? keep : after;
    },
  };
}

/** `$addToSet`: appends what is not there yet; values are equal when they compare equal, documents with their field order. */
export function addToSet(argument: BsonValue): Modifier {
  const added =
    isDocument(argument) && argument.keys().next().value === '$each' ? eachOf(argument) : [argument];
  return {
    missing: 'create',
    change(current, { path }) {
      if (current !== undefined && !Array.isArray(current)) {
        throw failure(
          'BadValue',
          `Cannot apply $addToSet to non-array field. Field named '${lastName(path)}' has non-array type ${typeName(current)}`,
        );
      }
      const after = [...(current ?? [])];
      for (const value of added) {
        if (!after.some((each) => valuesEqual(each, value))) after.push(value);
      }
      return current && after.length === current.length ? keep : after;
    },
  };
}

/** `$pop`: 1 takes off the last element, -1 the first. */
export function pop(path: string, argument: BsonValue): Modifier {
  const end = isNumber(argument) ? toDouble(argument) : NaN;
  if (Number.isNaN(end))
    throw failure('FailedToParse', `Expected a number in: ${describeField(path, argument)}`);
  if (!Number.isInteger(end))
    throw failure('FailedToParse', `Expected an integer: ${describeField(path, argument)}`);
  if (end !== 1 && end !== -1) throw failure('FailedToParse', `$pop expects 1 or -1, found: ${end}`);
  return {
    missing: 'check',
    change(current) {
      if (!Array.isArray(current)) {
        throw failure(
          'TypeMismatch',
          `Path '${path}' contains an element of non-array type '${current === undefined ? 'missing' : typeName(current)}'`,
        );
      }
      if (current.length === 0) return keep;
      return end === 1 ? current.slice(0, -1) : current.slice(1);
    },
  };
}

/** `$pull`: removes the elements that a condition or a value fits. */
export function pull(argument: BsonValue): Modifier {
  return removal('$pull', pullTest(argument));
}

/** `$pullAll`: removes every element equal to one of the values. */
export function pullAll(argument: BsonValue): Modifier {
  if (!Array.isArray(argument)) {
    throw failure('BadValue', `$pullAll requires an array argument but was given a ${typeName(argument)}`);
  }
  return removal('$pullAll', (element) => argument.some((each) => valuesEqual(each, element)));
}

function removal(operator: string, test: (element: BsonValue) => boolean): Modifier {
  return {
    missing: 'check',
    change(current) {
      if (!Array.isArray(current)) throw failure('BadValue', `Cannot apply ${operator} to a non-array value`);
      const after = current.filter((element) => !test(element));
      return after.length === current.length ? keep : after;
    },
  };
}

function pullTest(argument: BsonValue): (element: BsonValue) => boolean {
  if (argument instanceof BSONRegExp) return fieldTest(argument);
  if (!isDocument(argument)) return (element) => valuesEqual(element, argument);
  const first = argument.keys().next().value ?? '';
  const isField = first === '$not' || isTopLevelOperator(first) || namesReference(argument);
  if (first.startsWith('$') && !isField) return fieldTest(argument);
  const filter = compileElementFilter(argument);
  return (element) => isDocument(element) && filter.matches(element);
}

/** Tests elements as if they were a field's value, so that of an array its elements count as well. */
function fieldTest(condition: BsonValue): (element: BsonValue) => boolean {
  const filter = compileElementFilter(new Map([['', condition]]));
  return (element) => filter.matches(new Map([['', element]]));
}

function eachOf(argument: BsonDocument): BsonArray {
  const each = argument.get('$each') as BsonValue;
  if (!Array.isArray(each)) {
    throw failure(
      'TypeMismatch',
      `The argument to $each in $addToSet must be an array but it was of type ${typeName(each)}`,
    );
  }
  if (argument.size > 1)
    throw failure(
      'BadValue',
      `Found unexpected fields after $each in $addToSet: ${describeDocument(argument)}`,
    );
  return each;
}

interface PushClauses {
  added: BsonArray;
  position: number;
  slice?: number;
  order?: Order;
}

function parsePush(clauses: BsonDocument): PushClauses {
  const result: PushClauses = { added: [], position: Infinity };
  for (const [clause, value] of clauses) {
    switch (clause) {
      case '$each':
        if (!Array.isArray(value)) {
          throw failure(
            'BadValue',
            `The argument to $each in $push must be an array but it was of type: ${typeName(value)}`,
          );
        }
        result.added = value;
        break;
      case '$position':
        result.position = wholeNumber(clause, value);
        break;
      case '$slice':
        result.slice = wholeNumber(clause, value);
        break;
      case '$sort':
        result.order = parseOrder(value);
        break;
      default:
        throw failure('BadValue', `Unrecognized clause in $push: ${clause}`);
    }
  }
  return result;
}

function wholeNumber(clause: string, value: BsonValue): number {
  const whole = isNumber(value) ? truncate(value) : undefined;
  if (whole === undefined || compareValues(value, Long.fromBigInt(whole)) !== 0) {
    throw failure(
      'BadValue',
      `The value for ${clause} must be an integer value but was given type: ${typeName(value)}`,
    );
  }
  return Number(whole);
}

function parseOrder(value: BsonValue): Order {
  const direction = directionOf(value);
  if (direction !== undefined) return (a, b) => direction * compareValues(a, b);
  if (!isDocument(value)) throw invalidSort();
  if (value.size === 0)
    throw failure('BadValue', 'The $sort pattern is empty when it should be a set of fields.');
  const fields = Array.from(value, ([path, each]) => {
    const direction = directionOf(each);
    if (direction === undefined) throw failure('BadValue', 'The $sort element value must be either 1 or -1');
    if (path === '') throw failure('BadValue', 'The $sort field cannot be empty');
    if (path.split('.').includes('')) {
      throw failure('BadValue', `The $sort field is a dotted field but has an empty part: ${path}`);
    }
    return { path: path.split('.'), direction };
  });
  return (a, b) => {
    for (const { path, direction } of fields) {
      const result = direction * compareValues(pluck(a, path), pluck(b, path));
      if (result !== 0) return result;
    }
    return 0;
  };
}

function directionOf(value: BsonValue): 1 | -1 | undefined {
  if (!isNumber(value)) return undefined;
  const number = toDouble(value);
  if (number === 1 || number === -1) return number;
  throw failure('BadValue', 'The $sort element value must be either 1 or -1');
}

function invalidSort(): Error {
  return failure(
    'BadValue',
    'The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields',
  );
}

/** The value at a path where numbers name elements; arrays are not searched. */
function pluck(value: BsonValue, path: readonly string[]): BsonValue {
  let current: BsonValue | undefined = value;
  for (const name of path) {
    if (isDocument(current)) current = current.get(name);
    else if (Array.isArray(current)) current = /^\d+$/.test(name) ? current[Number(name)] : undefined;
    else current = undefined;
  }
  return current ?? null;
}
