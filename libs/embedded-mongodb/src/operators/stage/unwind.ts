import { Long } from 'bson';
import { fieldPath } from '../../aggregate/field-path.js';
import { isNullish } from '../../aggregate/operator.js';
import { eachDocument, type Stage, stages } from '../../pipeline/stage.js';
import { type BsonDocument, type BsonValue, isDocument, typeName } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

stages.define('$unwind', { parse: unwindStage });

interface Options {
  path: string[];
  index: string[] | undefined;
  keepsEmpty: boolean;
}

/** `$unwind`: a document per element of an array; what is no array passes as if it were its only element. */
function unwindStage(argument: BsonValue): Stage {
  const { path, index, keepsEmpty } = parse(argument);
  const indexed = (document: BsonDocument, value: BsonValue): BsonDocument =>
    index ? withValue(document, index, value) : document;
  return eachDocument(function* unwind(document) {
    const value = valueAt(document, path);
    if (Array.isArray(value) && value.length > 0) {
      for (const [position, element] of value.entries()) {
        yield indexed(withValue(document, path, element), Long.fromNumber(position));
      }
    } else if (!Array.isArray(value) && !isNullish(value)) {
      yield indexed(document, null);
    } else if (keepsEmpty) {
      // The position may take the very place of the array, and then keeps it.
      const replaced = index?.join('.') === path.join('.');
      yield indexed(
        Array.isArray(value) && !replaced ? withValue(document, path, undefined) : document,
        null,
      );
    }
  });
}

function parse(argument: BsonValue): Options {
  if (typeof argument === 'string') return { path: parsePath(argument), index: undefined, keepsEmpty: false };
  if (!isDocument(argument)) {
    throw failureAt(
      15981,
      `expected either a string or an object as specification for $unwind stage, got ${typeName(argument)}`,
    );
  }
  const options: Partial<Options> = {};
  for (const [name, value] of argument) {
    if (name === 'path') {
      if (typeof value !== 'string') {
        throw failureAt(28808, `expected a string as the path for $unwind stage, got ${typeName(value)}`);
      }
      options.path = parsePath(value);
    } else if (name === 'preserveNullAndEmptyArrays') {
      if (typeof value !== 'boolean') {
        throw failureAt(
          28809,
          `expected a boolean for the preserveNullAndEmptyArrays option to $unwind stage, got ${typeName(value)}`,
        );
      }
      options.keepsEmpty = value;
    } else if (name === 'includeArrayIndex') {
      options.index = parseIndex(value);
    } else {
      throw failureAt(28811, `unrecognized option to $unwind stage: ${name}`);
    }
  }
  if (!options.path) throw failureAt(28812, 'no path specified to $unwind stage');
  return { path: options.path, index: options.index, keepsEmpty: options.keepsEmpty ?? false };
}

function parsePath(path: string): string[] {
  if (!path.startsWith('$')) {
    throw failureAt(28818, `path option to $unwind stage should be prefixed with a '$': ${path}`);
  }
  return fieldPath(path.slice(1));
}

function parseIndex(value: BsonValue): string[] {
  if (typeof value !== 'string' || value === '') {
    throw failureAt(
      28810,
      `expected a non-empty string for the includeArrayIndex  option to $unwind stage, got ${typeName(value)}`,
    );
  }
  if (value.startsWith('$')) {
    throw failureAt(
      28822,
      `includeArrayIndex option to $unwind stage should not be prefixed with a '$': ${value}`,
    );
  }
  return fieldPath(value);
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
