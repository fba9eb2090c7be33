import { Int32 } from 'bson';
import { type Stage, stages } from '../../pipeline/stage.js';
import type { BsonValue } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

stages.define('$count', { parse: countStage });

function countStage(argument: BsonValue): Stage {
  const name = typeof argument === 'string' ? argument : undefined;
  if (name === undefined) throw failureAt(40156, 'the count field must be a non-empty string');
  if (name === '') throw failureAt(40157, 'the count field must be a non-empty string');
  if (name.startsWith('$')) throw failureAt(40158, 'the count field cannot be a $-prefixed path');
  if (name.includes('\0')) throw failureAt(40159, 'the count field cannot contain a null byte');
  if (name.includes('.')) throw failureAt(40160, `the count field cannot contain '.'`);
  return function* count(documents) {
    let total = 0;
    for (const document of documents) {
      if (document) total++;
      else yield undefined;
    }
    if (total > 0) yield new Map([[name, new Int32(total)]]);
  };
}
