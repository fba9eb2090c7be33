import { fieldPath } from '../../aggregate/field-path.js';
import { isNullish } from '../../aggregate/operator.js';
import { eachDocument, type Stage, stages } from '../../pipeline/stage.js';
import { type BsonDocument, type BsonValue, isDocument, typeName } from '../../bson/types.js';
import { failureAt, unsupported } from '../../errors.js';

stages.define('$unwind', { parse: unwindStage });

interface Options {
  path: string[];
  keepsEmpty: boolean;
}

/**
 * `$unwind`: one document per element of an array; a value that is not an array counts as its only element.
 */
function unwindStage(argument: BsonValue): Stage {
  const { path, keepsEmpty } = parse(argument);
  return eachDocument((document) => {
    const value = valueAt(document, path);
    if (Array.isArray(value) && value.length > 0)
      return value.map((element) => withValue(document, path, element));
    if (!Array.isArray(value) && !isNullish(value)) return [document];
    if (!keepsEmpty) return [];
    return [Array.isArray(value) ? withValue(document, path, undefined) : document];
  });
}

function parse(argument: BsonValue): Options {
  if (typeof argument === 'string') return { path: parsePath(argument), keepsEmpty: false };
  if (!isDocument(argument)) {
    throw failureAt(
      15981,
      `expected either a string or an object as specification for $unwind stage, got ${typeName(argument)}`,
    );
  }
  let path: string[] | undefined;
  let keepsEmpty = false;
  for (const [name, value] of argument) {
    if (name === 'path') {
      if (typeof value !== 'string')
        throw failureAt(28808, `expected a string as the path for $unwind stage, got ${typeName(value)}`);
      path = parsePath(value);
    } else if (name === 'preserveNullAndEmptyArrays') {
      if (typeof value !== 'boolean') {
        throw failureAt(
          28809,
          `expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got ${typeName(value)}`,
        );
      }
      keepsEmpty = value;
    } else if (name === 'includeArrayIndex') {
      throw unsupported('The option includeArrayIndex of $unwind');
    } else {
      throw failureAt(28811, `unrecognized option to $unwind stage: ${name}`);
    }
  }
  if (!path) throw failureAt(28812, 'no path specified to $unwind stage');
  return { path, keepsEmpty };
}

function parsePath(path: string): string[] {
  if (!path.startsWith('$')) {
    throw failureAt(28818, `path option to $unwind stage should be prefixed with a '$': ${path}`);
  }
  return fieldPath(path.slice(1));
}

/** Arrays on the way to the path are not entered. */
function valueAt(document: BsonDocument, path: readonly string[]): BsonValue | undefined {
  let value: BsonValue | undefined = document;
  for (const name of path) value = isDocument(value) ? value.get(name) : undefined;
  return value;
}

function withValue(
  document: BsonDocument,
  [name = '', ...rest]: readonly string[],
  value: BsonValue | undefined,
): BsonDocument {
  const result = new Map(document);
  const child = result.get(name);
  const next = rest.length === 0 ? value : withValue(isDocument(child) ? child : new Map(), rest, value);
  if (next === undefined) result.delete(name);
  else result.set(name, next);
  return result;
}
