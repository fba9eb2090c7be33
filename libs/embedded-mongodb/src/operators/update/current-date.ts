import { describe } from '../../bson/describe.js';
import { type BsonValue, isDocument } from '../../bson/types.js';
import { failure } from '../../errors.js';
import { nextTimestamp } from '../../update/clock.js';
import { updates } from '../../update/operator.js';

updates.define('$currentDate', {
  modifier(_path, argument) {
    const type = dateType(argument);
    return { missing: 'create', change: (_current, { now }) => (type === 'date' ? now : nextTimestamp()) };
  },
});

function dateType(argument: BsonValue): 'date' | 'timestamp' {
  if (typeof argument === 'boolean') return 'date';
  const type = isDocument(argument) && argument.size === 1 ? argument.get('$type') : undefined;
  if (type === 'date' || type === 'timestamp') return type;
  throw failure(
    'BadValue',
    `$currentDate takes a boolean or { $type: 'date' } or { $type: 'timestamp' }, and not ${describe(argument)}`,
  );
}
