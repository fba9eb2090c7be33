import { type Expression, scopeOf } from '../../aggregate/scope.js';
import { namedArguments } from '../../aggregate/values/named-arguments.js';
import { isTruthy } from '../../bson/truth.js';
import { type BsonValue, typeName } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define('$switch', {
  compile(argument, compile) {
    const options = namedArguments('$switch', argument, 40060, { branches: 40068 }, ['default'], 40067);
    const branches = options.get('branches');
    if (!Array.isArray(branches)) {
      throw failureAt(
        40061,
        `$switch expected an array for 'branches', found: ${typeName(branches as BsonValue)}`,
      );
    }
    const compiled = branches.map((each) => {
      const branch = namedArguments('$switch branch', each, 40062, { case: 40064, then: 40065 }, [], 40063);
      return {
        when: compile(branch.get('case') as BsonValue),
        then: compile(branch.get('then') as BsonValue),
      };
    });
    if (compiled.length === 0) throw failureAt(40068, '$switch requires at least one branch.');
    const fallback = options.get('default');
    const otherwise = fallback === undefined ? undefined : compile(fallback);
    const isNever = (test: Expression): boolean =>
      test.constant === true && !isTruthy(test(scopeOf(new Map())));
    if (!otherwise && compiled.every(({ when }) => isNever(when))) {
      throw failureAt(
        40069,
        'Cannot execute a switch statement where all the cases evaluate to false without a default',
      );
    }
    return (scope) => {
      const branch = compiled.find(({ when }) => isTruthy(when(scope)));
      if (branch) return branch.then(scope);
      if (otherwise) return otherwise(scope);
      throw failureAt(
        40066,
        '$switch could not find a matching branch for an input, and no default was specified.',
      );
    };
  },
});
