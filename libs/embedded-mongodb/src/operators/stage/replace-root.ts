import { type Stage, stages } from '../../pipeline/stage.js';
import { replaceBy } from '../../pipeline/replaced-root.js';
import { type BsonValue, isDocument, typeName } from '../../bson/types.js';
import { failureAt, missingField, unknownField } from '../../errors.js';

stages.define('$replaceRoot', { parse: replaceRootStage, updates: true });

/** `$replaceRoot`: replaces each document with the result of an expression. */
function replaceRootStage(argument: BsonValue): Stage {
  if (!isDocument(argument)) {
    throw failureAt(
      40229,
      `expected an object as specification for $replaceRoot stage, got ${typeName(argument)}`,
    );
  }
  const unknown = [...argument.keys()].find((name) => name !== 'newRoot');
  if (unknown !== undefined) throw unknownField(`$replaceRoot.${unknown}`);
  const root = argument.get('newRoot');
  if (root === undefined) throw missingField(`$replaceRoot.newRoot`);
  return replaceBy(root, `'newRoot' expression `);
}
