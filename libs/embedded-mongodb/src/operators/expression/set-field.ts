import { type BsonDocument, type BsonValue, isDocument } from '../../bson/types.js';
import { failureAt } from '../../errors.js';
import { type Compile, expressions, isNullish } from '../../aggregate/operator.js';
import type { Expression } from '../../aggregate/scope.js';

expressions.define('$setField', { compile: setField });

/** The parameters, and the error if one is missing. */
const required = [
  ['field', 4161102],
  ['value', 4161103],
  ['input', 4161109],
] as const;

/**
 * `$setField`: sets one field of a document, even if its name has dots or dollar signs; a missing value
 * removes it.
 */
function setField(argument: BsonValue, compile: Compile): Expression {
  if (!isDocument(argument)) throw failureAt(4161100, '$setField only supports an object as its argument');
  for (const name of argument.keys()) {
    if (!required.some(([known]) => known === name))
      throw failureAt(4161101, `$setField found an unknown argument: ${name}`);
  }
  for (const [name, code] of required) {
    if (!argument.has(name)) throw failureAt(code, `$setField requires '${name}' to be specified`);
  }
  const name = constantName(argument.get('field') as BsonValue);
  const [value, input] = ['value', 'input'].map((each) => compile(argument.get(each) as BsonValue));
  return (document) => {
    const target = input?.(document);
    if (isNullish(target)) return null;
    if (!isDocument(target))
      throw failureAt(4161105, `$setField requires 'input' to evaluate to type Object`);
    const result: BsonDocument = new Map(target);
    const set = value?.(document);
    if (set === undefined) result.delete(name);
    else result.set(name, set);
    return result;
  };
}

/** A string, possibly in a `$literal`: a computed name is rejected, as in MongoDB. */
function constantName(argument: BsonValue): string {
  const isPath = typeof argument === 'string' && argument.startsWith('$');
  const name = isDocument(argument) ? argument.get('$literal') : argument;
  if (typeof name === 'string' && !isPath) return name;
  throw failureAt(4161106, `$setField requires 'field' to be a string or { $literal: <string> }`);
}
