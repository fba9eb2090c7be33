import { eachDocument, type Stage, stages } from '../../pipeline/stage.js';
import { type BsonValue, isDocument } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { compileProjection } from '../../query/projection.js';

stages.define('$project', { parse: projectStage, updates: true });

export function projectStage(argument: BsonValue): Stage {
  if (!isDocument(argument)) throw failureAt(15969, '$project specification must be an object');
  if (argument.size === 0) {
    throw failureAt(
      51272,
      'Invalid $project :: caused by :: projection specification must have at least one field',
    );
  }
  const projection = compileProjection(argument);
  return eachDocument((document) => [projection.apply(document)]);
}
