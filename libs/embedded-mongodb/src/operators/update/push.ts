import { compareValues } from '../../bson/compare.js';
import { toDouble, wholeNumber } from '../../bson/numbers.js';
import {
  type BsonArray,
  type BsonValue,
  type BsonDocument,
  isDocument,
  isNumber,
  typeName,
} from '../../bson/types.js';
import { failure } from '../../errors.js';
import { describeId, keep, type Modifier } from '../../update/modifier.js';
import { updates } from '../../update/operator.js';

updates.define('$push', { modifier: (_path, argument) => push(argument) });

type Order = (a: BsonValue, b: BsonValue) => number;

/** `$push`, with `$each`, `$position`, `$slice` and `$sort`. */
function push(argument: BsonValue): Modifier {
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
        result.position = wholeClause(clause, value);
        break;
      case '$slice':
        result.slice = wholeClause(clause, value);
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

function wholeClause(clause: string, value: BsonValue): number {
  const whole = wholeNumber(value);
  if (whole !== undefined) return whole;
  throw failure(
    'BadValue',
    `The value for ${clause} must be an integer value but was given type: ${typeName(value)}`,
  );
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
