import { describe } from '../../bson/describe.js';
import { isDocument } from '../../bson/types.js';
import { badValue, unsupported } from '../../errors.js';
import { updates } from '../../update/operator.js';

updates.define('$currentDate', {
  modifier(_path, argument) {
    const type = isDocument(argument) && argument.size === 1 ? argument.get('$type') : undefined;
    if (type === 'timestamp') throw unsupported('$currentDate of the type timestamp');
    if (typeof argument !== 'boolean' && type !== 'date')
      throw badValue(`$currentDate takes a boolean or { $type: 'date' }, and not ${describe(argument)}`);
    return { missing: 'create', change: (_current, { now }) => now };
  },
});
