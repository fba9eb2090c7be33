import { type Stage, type StageContext, stages } from '../../pipeline/stage.js';
import { replaceBy } from '../../pipeline/replaced-root.js';
import { type BsonValue, isDocument, typeName } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

stages.define('$replaceRoot', { parse: replaceRootStage, updates: true });

/** `$replaceRoot`: the document that an expression gives, in place of the whole. */
function replaceRootStage(argument: BsonValue, context: StageContext): Stage {
  if (!isDocument(argument)) {
    throw failureAt(
      40229,
      `expected an object as specification for $replaceRoot stage, got ${typeName(argument)}`,
    );
  }
  const unknown = [...argument.keys()].find((name) => name !== 'newRoot');
  if (unknown !== undefined)
    throw failureAt(40415, `BSON field '$replaceRoot.${unknown}' is an unknown field.`);
  const root = argument.get('newRoot');
  if (root === undefined)
    throw failureAt(40414, `BSON field '$replaceRoot.newRoot' is missing but a required field`);
  return replaceBy(root, `'newRoot' expression `, context);
}
