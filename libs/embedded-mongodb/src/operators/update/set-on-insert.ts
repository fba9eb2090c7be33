import { identical, keep } from '../../update/modifier.js';
import { updates } from '../../update/operator.js';

updates.define('$setOnInsert', {
  modifier: (_path, argument) => ({
    missing: 'create',
    change: (current, { insert }) => (insert && !identical(current, argument) ? argument : keep),
  }),
});
