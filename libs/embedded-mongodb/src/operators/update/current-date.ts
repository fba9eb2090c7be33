import { type BsonDocument, type BsonValue, isDocument, typeName } from '../../bson/types.js';
import { failure } from '../../errors.js';
import { nextTimestamp } from '../../update/clock.js';
import type { Modifier } from '../../update/modifier.js';
import { updates } from '../../update/operator.js';

updates.define('$currentDate', { modifier: (_path, argument) => currentDate(argument) });

function currentDate(argument: BsonValue): Modifier {
  const type = isDocument(argument) ? dateType(argument) : 'date';
  if (!isDocument(argument) && typeof argument !== 'boolean') {
    throw failure(
      'BadValue',
      `${typeName(argument)} is not valid type for $currentDate. Please use a boolean ('true') or a $type expression ({$type: 'timestamp/date'}).`,
    );
  }
  return { missing: 'create', change: (_current, { now }) => (type === 'date' ? now : nextTimestamp()) };
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
