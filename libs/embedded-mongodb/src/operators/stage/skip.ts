import { type Stage, stages } from '../../pipeline/stage.js';
import { wholeArgument } from '../../aggregate/values/whole-argument.js';
import type { BsonValue } from '../../bson/types.js';

stages.define('$skip', {
  parse: skipStage,
  intoHead(head, argument) {
    if (head.skip !== undefined || head.limit !== undefined) return false;
    head.skip = skipCount(argument);
    return true;
  },
});

function skipStage(argument: BsonValue): Stage {
  const count = skipCount(argument);
  return function* skip(documents) {
    let left = count;
    for (const document of documents) {
      if (!document) yield undefined;
      else if (left-- <= 0) yield document;
    }
  };
}

/** The number that a `$skip` passes over. */
function skipCount(argument: BsonValue): number {
  return wholeArgument('$skip', argument, 5107200);
}
