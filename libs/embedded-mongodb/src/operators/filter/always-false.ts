import { opaque } from '../../query/filter.js';
import { clauseOperators } from '../registry.js';

clauseOperators.define('$alwaysFalse', () => ({ ...opaque, matches: () => false }));
