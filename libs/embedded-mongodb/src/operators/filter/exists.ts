import { isTruthy } from '../../bson/truth.js';
import { condition, type Condition } from '../../query/condition.js';
import { everything } from '../../query/intervals.js';
import { fieldOperators } from '../../query/operators.js';

const isPresent = condition((value) => value !== undefined, {
  intervals: [everything],
  includesMissing: false,
  exact: false,
});

const isMissing: Condition = {
  matchesAt: (document, path) => !isPresent.matchesAt(document, path),
  matchesElement: (value) => value === undefined,
};

fieldOperators.define('$exists', (argument) => (isTruthy(argument) ? isPresent : isMissing));
