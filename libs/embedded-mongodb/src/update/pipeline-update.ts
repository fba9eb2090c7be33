import { compilePipelineStages } from '../pipeline/pipeline.js';
import type { BsonDocument, BsonValue } from '../bson/types.js';
import { failure } from '../errors.js';
import { stages as registered } from '../pipeline/stage.js';
import { checkId } from './id.js';
import { replaceKeepingId } from './replacement.js';
import type { Update } from './update.js';

/**
 * An update by a pipeline: every document passes through the stages and keeps its `_id`.
 *
 * @throws CommandError InvalidOptions (72) for a stage that is not allowed in an update.
 * @see https://www.mongodb.com/docs/manual/tutorial/update-documents-with-aggregation-pipeline/
 */
export function pipelineUpdate(stages: readonly BsonValue[]): Update {
  const run = compilePipelineStages(stages, checkAllowed);
  return {
    replacement: false,
    apply(document) {
      const [result = document] = run([document]) as Iterable<BsonDocument>;
      const id = result.get('_id');
      if (id !== undefined && document.has('_id')) checkId(id);
      return replaceKeepingId(document, result);
    },
  };
}

function checkAllowed(name: string): void {
  if (!registered.find(name).updates) {
    throw failure('InvalidOptions', `${name} is not allowed to be used within an update`);
  }
}
