import { compileExpression } from '../../aggregate/expression.js';
import { fieldPath } from '../../aggregate/field-path.js';
import { eachDocument, type Stage, stages } from '../../pipeline/stage.js';
import { describeDocument } from '../../bson/describe.js';
import { type BsonDocument, type BsonValue, isDocument, typeName } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { ProjectionTree } from '../../query/projection-tree.js';

stages.define('$addFields', { parse: (argument) => addFieldsStage('$addFields', argument), updates: true });

/** `$addFields` and its other name `$set`. */
export function addFieldsStage(name: string, argument: BsonValue): Stage {
  if (!isDocument(argument)) {
    throw failureAt(40272, `${name} specification stage must be an object, got ${typeName(argument)}`);
  }
  const tree = new ProjectionTree();
  const seen: string[] = [];
  for (const [path, value] of argument) addField(tree, seen, path, value, argument);
  return eachDocument((document) => [tree.compute(new Map(document), document)]);
}

function addField(
  tree: ProjectionTree,
  seen: string[],
  path: string,
  value: BsonValue,
  spec: BsonDocument,
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
      for (const [name, inner] of value) addField(tree, seen, `${path}.${name}`, inner, spec);
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
  tree.add(path.split('.'), { compute: compileExpression(value) });
}
