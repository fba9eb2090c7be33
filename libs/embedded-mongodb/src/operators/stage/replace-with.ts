import { replaceBy } from '../../aggregate/values/replaced-root.js';
import { stages } from '../registry.js';

/** The short form of `$replaceRoot`. */
stages.define('$replaceWith', {
  parse: (argument, context) => replaceBy(argument, `'replacement document' `, context),
  updates: true,
});
