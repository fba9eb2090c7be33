import { compileExpression } from '../../aggregate/expression.js';
import { fieldPath } from '../../aggregate/field-path.js';
import type { Variables } from '../../aggregate/scope.js';
import { eachDocument, type Stage, type StageContext, stages } from '../../pipeline/stage.js';
import { describeDocument } from '../../bson/describe.js';
import { type BsonDocument, type BsonValue, isDocument, typeName } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { ProjectionTree } from '../../query/projection-tree.js';

stages.define('$addFields', { parse: addFieldsStage, updates: true });

/** `$addFields` and its other name `$set`. */
export function addFieldsStage(argument: BsonValue, { name, variables }: StageContext): Stage {
  if (!isDocument(argument)) {
    throw failureAt(40272, `${name} specification stage must be an object, got ${typeName(argument)}`);
  }
  const tree = new ProjectionTree();
  const seen: string[] = [];
  for (const [path, value] of argument) addField(tree, seen, path, value, argument, variables);
  return eachDocument((document) => [tree.compute(new Map(document), document)]);
}

function addField(
  tree: ProjectionTree,
  seen: string[],
  path: string,
  value: BsonValue,
  spec: BsonDocument,
  variables: Variables,
): void {
  fieldPath(path);
  if (isDocument(value) && value.size > 0) {
    const operator = [...value.keys()].find((key) => key.startsWith('$'));
    if (operator !== undefined && value.size > 1) {
      throw failureAt(
        40181,
        `an expression specification must contain exactly one field, the name of the expression. Found ${value.size} fields in ${describeDocument(value)}`,
      );
    }
    if (operator === undefined) {
      for (const [name, inner] of value) addField(tree, seen, `${path}.${name}`, inner, spec, variables);
      return;
    }
  }
  const other = seen.find((each) => `${each}.`.startsWith(`${path}.`) || `${path}.`.startsWith(`${each}.`));
  if (other !== undefined) {
    throw failureAt(
      40176,
      `specification contains two conflicting paths. Cannot specify both '${path}' and '${other}': ${describeDocument(spec)}`,
    );
  }
  seen.push(path);
  tree.add(path.split('.'), { compute: compileExpression(value, variables) });
}
