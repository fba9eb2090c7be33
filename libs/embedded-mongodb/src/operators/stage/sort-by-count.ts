import { Int32 } from 'bson';
import { type Stage, type StageContext, stages } from '../../pipeline/stage.js';
import { type BsonDocument, type BsonValue, isDocument } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { groupStage } from './group.js';
import { sortStage } from './sort.js';

stages.define('$sortByCount', { parse: sortByCountStage });

/** `$sortByCount`: how often each value of an expression occurs, the most frequent first. */
function sortByCountStage(argument: BsonValue, context: StageContext): Stage {
  if (isDocument(argument) && !argument.keys().next().value?.startsWith('$'))
    throw failureAt(
      40147,
      'the sortByCount field must be defined as a $-prefixed path or an expression inside an object',
    );
  if (typeof argument === 'string' && !argument.startsWith('$'))
    throw failureAt(
      40148,
      'the sortByCount field must be defined as a $-prefixed path or an expression inside an object',
    );
  if (!isDocument(argument) && typeof argument !== 'string')
    throw failureAt(40149, 'the sortByCount field must be specified as a string or as an object');
  const one: BsonDocument = new Map([['$sum', new Int32(1)]]);
  const group = groupStage(
    new Map<string, BsonValue>([
      ['_id', argument],
      ['count', one],
    ]),
    context,
  );
  const sort = sortStage(new Map([['count', new Int32(-1)]]));
  return (documents) => sort(group(documents));
}
