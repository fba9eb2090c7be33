import { type Stage, stages } from '../../pipeline/stage.js';
import { wholeArgument } from '../../aggregate/values/whole-argument.js';
import type { BsonValue } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

stages.define('$limit', {
  parse: limitStage,
  intoHead(head, argument) {
    if (head.limit !== undefined) return false;
    head.limit = limitCount(argument);
    return true;
  },
});

function limitStage(argument: BsonValue): Stage {
  const count = limitCount(argument);
  return function* limit(documents) {
    let left = count;
    for (const document of documents) {
      yield document;
      if (document && --left === 0) return;
    }
  };
}

/** The number that a `$limit` lets through. */
function limitCount(argument: BsonValue): number {
  const count = wholeArgument('$limit', argument, 5107201);
  if (count === 0) throw failureAt(15958, 'the limit must be positive');
  return count;
}
