import { replaceBy } from '../../pipeline/replaced-root.js';
import { stages } from '../../pipeline/stage.js';

/** The short form of `$replaceRoot`. */
stages.define('$replaceWith', {
  parse: (argument) => replaceBy(argument, `'replacement document' `),
  updates: true,
});
