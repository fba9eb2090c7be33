import { allDocuments, type Stage, stages } from '../../pipeline/stage.js';
import { type BsonDocument, type BsonValue, isDocument } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { sortDocuments } from '../../index/sort-order.js';
import { parseSort } from '../../query/sort.js';

stages.define('$sort', {
  parse: sortStage,
  // Of two sorts in a row, only the last one matters.
  intoHead(head, argument) {
    if (head.skip !== undefined || head.limit !== undefined) return false;
    head.sort = sortSpec(argument);
    parseSort(head.sort);
    return true;
  },
});

/** Sorts all documents; those with equal keys keep their order. */
function sortStage(argument: BsonValue): Stage {
  const fields = parseSort(sortSpec(argument));
  return allDocuments((documents) => sortDocuments(documents, fields));
}

/** The specification of a `$sort`. */
function sortSpec(argument: BsonValue): BsonDocument {
  if (!isDocument(argument)) throw failureAt(15973, 'the $sort key specification must be an object');
  if (argument.size === 0) throw failureAt(15976, '$sort stage must have at least one sort key');
  return argument;
}
