import { eachDocument, type Stage, stages } from '../../pipeline/stage.js';
import { type BsonValue, isDocument } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { compileFilter } from '../../query/filter.js';

stages.define('$match', {
  parse: matchStage,
  // A match after a sort gives the same result before it, and leaves less to sort.
  intoHead(head, argument) {
    if (!isDocument(argument) || head.skip !== undefined || head.limit !== undefined) return false;
    compileFilter(argument);
    head.filter = head.filter ? new Map([['$and', [head.filter, argument]]]) : argument;
    return true;
  },
});

function matchStage(argument: BsonValue): Stage {
  if (!isDocument(argument)) throw failureAt(15959, 'the match filter must be an expression in an object');
  const filter = compileFilter(argument);
  return eachDocument((document) => (filter.matches(document) ? [document] : []));
}
