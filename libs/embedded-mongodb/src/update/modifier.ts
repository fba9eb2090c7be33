import { compareValues, valuesEqual } from '../bson/compare.js';
import { encodeDocument } from '../bson/encode.js';
import { add, multiply, toDouble } from '../bson/numbers.js';
import { describeField, describe } from '../bson/describe.js';
import {
  type BsonDocument,
  type BsonNumber,
  type BsonValue,
  isDocument,
  isNumber,
  typeName,
} from '../bson/types.js';
import { failure } from '../errors.js';
import { Int32, Long } from 'bson';
import { nextTimestamp } from './clock.js';

/** Answers of a modifier that are not a new value. */
export const keep = Symbol('keep');
export const remove = Symbol('remove');
export type Change = BsonValue | typeof keep | typeof remove;

/** What a modifier may look at besides the value. */
export interface ModifierContext {
  /** The document before the update, for error messages. */
  document: BsonDocument;
  /** The dotted path of the field. */
  path: string;
  /** Whether the document is being inserted by an upsert. */
  insert: boolean;
  now: Date;
}

/** One operator's work on one field. */
export interface Modifier {
  /**
   * What happens where the path does not lead to the field: it is created; nothing, unless a scalar stands in the way; or
   * nothing in any case.
   */
  readonly missing: 'create' | 'check' | 'ignore';
  /** The field's new value; `current` is `undefined` when the field is missing. */
  change(current: BsonValue | undefined, context: ModifierContext): Change;
}

/** `$set`. */
export function setTo(value: BsonValue): Modifier {
  return { missing: 'create', change: (current) => (identical(current, value) ? keep : value) };
}

/** `$setOnInsert`. */
export function setOnInsert(value: BsonValue): Modifier {
  return {
    missing: 'create',
    change: (current, { insert }) => (insert && !identical(current, value) ? value : keep),
  };
}

/** `$unset`. */
export function unset(): Modifier {
  return { missing: 'ignore', change: () => remove };
}

/** `$inc` and `$mul`; a missing field counts as zero. */
export function arithmetic(operator: '$inc' | '$mul', path: string, operand: BsonValue): Modifier {
  const verb = operator === '$inc' ? 'increment' : 'multiply';
  if (!isNumber(operand)) {
    throw failure(
      'TypeMismatch',
      `Cannot ${verb} with non-numeric argument: {${describeField(path, operand)}}`,
    );
  }
  const combine = operator === '$inc' ? add : multiply;
  return {
    missing: 'create',
    change(current, { document }) {
      if (current === undefined)
        return operator === '$inc' ? operand : (multiply(new Int32(0), operand, 'fail') ?? keep);
      if (!isNumber(current)) {
        throw failure(
          'TypeMismatch',
          `Cannot apply ${operator} to a value of non-numeric type. ${describeId(document)} has the field '${lastName(path)}' of non-numeric type ${typeName(current)}`,
        );
      }
      const result = combine(current, operand, 'fail');
      if (!result) throw overflow(operator, current, document);
      // NaN equals nothing here, not even itself: in MongoDB it counts as a change.
      if (Number.isNaN(toDouble(result))) return result;
      return typeName(current) === typeName(result) && valuesEqual(current, result) ? keep : result;
    },
  };
}

/** `$min` and `$max`: by the order across all types. */
export function extreme(operator: '$min' | '$max', operand: BsonValue): Modifier {
  const direction = operator === '$min' ? 1 : -1;
  return {
    missing: 'create',
    change: (current) =>
      current === undefined || compareValues(current, operand) * direction > 0 ? operand : keep,
  };
}

/** `$currentDate`. */
export function currentDate(argument: BsonValue): Modifier {
  const type = isDocument(argument) ? dateType(argument) : 'date';
  if (!isDocument(argument) && typeof argument !== 'boolean') {
    throw failure(
      'BadValue',
      `${typeName(argument)} is not valid type for $currentDate. Please use a boolean ('true') or a $type expression ({$type: 'timestamp/date'}).`,
    );
  }
  return { missing: 'create', change: (_current, { now }) => (type === 'date' ? now : nextTimestamp()) };
}

/** Whether two values are the same down to their types, so that writing one over the other changes nothing. */
export function identical(a: BsonValue | undefined, b: BsonValue): boolean {
  if (a === undefined || compareValues(a, b) !== 0) return false;
  return Buffer.compare(encodeDocument(new Map([['', a]])), encodeDocument(new Map([['', b]]))) === 0;
}

/** `{_id: 1}`, as MongoDB names a document in its error messages. */
export function describeId(document: BsonDocument): string {
  const id = document.get('_id');
  return id === undefined ? '{no id}' : `{${describeField('_id', id)}}`;
}

/** The last name of a path. */
export function lastName(path: string): string {
  return path.slice(path.lastIndexOf('.') + 1);
}

function overflow(operator: string, current: BsonNumber, document: BsonDocument): Error {
  const type = current instanceof Long ? 'NumberLong' : 'NumberInt';
  return failure(
    'BadValue',
    `Failed to apply ${operator} operations to current value ((${type})${describe(current)}) for document ${describeId(document)}`,
  );
}

function dateType(argument: BsonDocument): 'date' | 'timestamp' {
  for (const [name] of argument) {
    if (name !== '$type') throw failure('BadValue', `Unrecognized $currentDate option: ${name}`);
  }
  const type = argument.get('$type');
  if (type === 'date' || type === 'timestamp') return type;
  throw failure(
    'BadValue',
    `The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: {field : {$type: 'date'}}}`,
  );
}
