import { chain, compileStage, readStage } from '../../pipeline/pipeline.js';
import { allDocuments, type Stage, stages } from '../../pipeline/stage.js';
import { describeDocument } from '../../bson/describe.js';
import { type BsonDocument, type BsonValue, isDocument, typeName } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

stages.define('$facet', { parse: facetStage });

/** `$facet`: several pipelines over the same documents, with each result in its own field. */
function facetStage(argument: BsonValue): Stage {
  if (!isDocument(argument) || argument.size === 0) {
    const found = isDocument(argument) ? describeDocument(argument) : typeName(argument);
    throw failureAt(
      40169,
      `the $facet specification must be a non-empty object, but found: $facet: ${found}`,
    );
  }
  const facets = Array.from(argument, ([name, stages]) => ({
    name,
    stages: facetStages(name, stages),
  }));
  return allDocuments(function* facet(documents) {
    const result: BsonDocument = new Map();
    for (const { name, stages } of facets) {
      result.set(
        name,
        [...chain(stages, documents)].filter((each) => each !== undefined),
      );
    }
    yield result;
  });
}

function facetStages(name: string, stages: BsonValue): Stage[] {
  if (name.includes('.')) {
    throw failureAt(
      16412,
      `FieldPath field names may not contain '.'. Consider using $getField or $setField.`,
    );
  }
  if (name.startsWith('$')) {
    throw failureAt(
      16410,
      `FieldPath field names may not start with '$'. Consider using $getField or $setField.`,
    );
  }
  if (!Array.isArray(stages)) {
    throw failureAt(40170, `arguments to $facet must be arrays, ${name} is type ${typeName(stages)}`);
  }
  return stages.map((stage, index) => {
    if (!isDocument(stage) || stage.size === 0) {
      throw failureAt(
        40171,
        `elements of arrays in $facet spec must be non-empty objects, ${name} argument contained an element of type ${typeName(stage)}: ${index}`,
      );
    }
    const named = readStage(stage);
    if (named.name === '$facet') {
      throw failureAt(40600, `${named.name} is not allowed to be used within a $facet stage`);
    }
    return compileStage(named);
  });
}
