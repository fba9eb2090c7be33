import { eachDocument, type Stage, type StageContext, stages } from '../../pipeline/stage.js';
import { type BsonValue, isDocument } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { compileProjection } from '../../query/projection.js';

stages.define('$project', { parse: projectStage, updates: true });

export function projectStage(argument: BsonValue, { variables }: StageContext): Stage {
  if (!isDocument(argument)) throw failureAt(15969, '$project specification must be an object');
  const projection = compileProjection(argument, 'aggregate', variables);
  return eachDocument((document) => [projection.apply(document)]);
}
