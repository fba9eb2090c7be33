import { randomInt } from 'node:crypto';
import { Decimal128, Int32 } from 'bson';
import { describe, describeDocument } from '../bson/describe.js';
import { toDouble } from '../bson/numbers.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber, typeName } from '../bson/types.js';
import { failureAt, unsupported } from '../errors.js';
import { compileFilter } from '../query/filter.js';
import { compileProjection } from '../query/projection.js';
import { ProjectionTree } from '../query/projection-tree.js';
import { compileSort, sortDocuments } from '../query/sort.js';
import { compileExpression } from './expression.js';
import { fieldPath } from './field-path.js';
import { scopeOf, type Variables } from './scope.js';
import { allDocuments, eachDocument, type Stage, type StageContext } from './stage.js';

export function matchStage(argument: BsonValue, { variables }: StageContext): Stage {
  if (!isDocument(argument)) throw failureAt(15959, 'the match filter must be an expression in an object');
  const filter = compileFilter(argument, variables);
  return eachDocument((document) => (filter.matches(document) ? [document] : []));
}

export function sortStage(argument: BsonValue): Stage {
  const sort = compileSort(sortSpec(argument));
  return allDocuments((documents) => sortDocuments(documents, sort));
}

/** The specification of a `$sort`. */
export function sortSpec(argument: BsonValue): BsonDocument {
  if (!isDocument(argument)) throw failureAt(15973, 'the $sort key specification must be an object');
  if (argument.size === 0) throw failureAt(15976, '$sort stage must have at least one sort key');
  return argument;
}

/** `$sample`: so many documents at random, each once. */
export function sampleStage(argument: BsonValue): Stage {
  const size = sampleSize(argument);
  return allDocuments((documents) => {
    // The first steps of a Fisher-Yates shuffle.
    const count = Math.min(size, documents.length);
    for (let next = 0; next < count; next++) {
      const other = randomInt(next, documents.length);
      [documents[next], documents[other]] = [
        documents[other] as BsonDocument,
        documents[next] as BsonDocument,
      ];
    }
    return documents.slice(0, count);
  });
}

function sampleSize(argument: BsonValue): number {
  if (!isDocument(argument)) throw failureAt(28745, 'the $sample stage specification must be an object');
  const unknown = [...argument.keys()].find((name) => name !== 'size');
  if (unknown !== undefined) throw failureAt(28748, `unrecognized option to $sample: ${unknown}`);
  const size = argument.get('size');
  if (size === undefined) throw failureAt(28749, '$sample stage must specify a size');
  if (!isNumber(size)) throw failureAt(28746, 'size argument to $sample must be a number');
  if (size instanceof Decimal128) throw unsupported('A decimal as the size of $sample');
  const whole = Math.trunc(toDouble(size));
  if (whole < 0) throw failureAt(28747, 'size argument to $sample must not be negative');
  return whole || 0;
}

export function skipStage(argument: BsonValue): Stage {
  const count = skipCount(argument);
  return function* skip(documents) {
    let left = count;
    for (const document of documents) {
      if (!document) yield undefined;
      else if (left-- <= 0) yield document;
    }
  };
}

export function limitStage(argument: BsonValue): Stage {
  const count = limitCount(argument);
  return function* limit(documents) {
    let left = count;
    for (const document of documents) {
      yield document;
      if (document && --left === 0) return;
    }
  };
}

/** The number that a `$skip` passes over. */
export function skipCount(argument: BsonValue): number {
  return wholeNumber('$skip', argument, 5107200);
}

/** The number that a `$limit` lets through. */
export function limitCount(argument: BsonValue): number {
  const count = wholeNumber('$limit', argument, 5107201);
  if (count === 0) throw failureAt(15958, 'the limit must be positive');
  return count;
}

function wholeNumber(stage: string, argument: BsonValue, code: number): number {
  const wrong = (expected: string): Error =>
    failureAt(code, `invalid argument to ${stage} stage: ${expected}: ${stage}: ${describe(argument)}`);
  if (!isNumber(argument)) throw wrong('Expected a number in');
  const count = toDouble(argument);
  if (!Number.isInteger(count)) throw wrong('Expected an integer');
  if (count < 0) throw wrong('Expected a non-negative number in');
  return count;
}

export function projectStage(argument: BsonValue, { variables }: StageContext): Stage {
  if (!isDocument(argument)) throw failureAt(15969, '$project specification must be an object');
  const projection = compileProjection(argument, 'aggregate', variables);
  return eachDocument((document) => [projection.apply(document)]);
}

export function unsetStage(argument: BsonValue, context: StageContext): Stage {
  if (typeof argument !== 'string' && !Array.isArray(argument)) {
    throw failureAt(31002, '$unset specification must be a string or an array');
  }
  const paths = typeof argument === 'string' ? [argument] : argument;
  if (paths.length === 0) {
    throw failureAt(31119, '$unset specification must be a string or an array with at least one field');
  }
  const spec: BsonDocument = new Map();
  for (const path of paths) {
    if (typeof path !== 'string') {
      throw failureAt(
        31120,
        '$unset specification must be a string or an array containing only string values',
      );
    }
    if (spec.has(path)) throw failureAt(31250, `Invalid $unset :: caused by :: Path collision at ${path}`);
    spec.set(path, new Int32(0));
  }
  // Unlike a projection, which would take `_id: 0` alone for an inclusion of the rest, this only ever removes.
  return projectStage(spec, context);
}

/** `$addFields` and its other name `$set`. */
export function addFieldsStage(argument: BsonValue, { name, variables }: StageContext): Stage {
  if (!isDocument(argument)) {
    throw failureAt(40272, `${name} specification stage must be an object, got ${typeName(argument)}`);
  }
  const tree = new ProjectionTree();
  const seen: string[] = [];
  for (const [path, value] of argument) addField(tree, seen, path, value, argument, variables);
  return eachDocument((document) => [tree.compute(new Map(document), scopeOf(document))]);
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

export function countStage(argument: BsonValue): Stage {
  const name = typeof argument === 'string' ? argument : undefined;
  if (name === undefined) throw failureAt(40156, 'the count field must be a non-empty string');
  if (name === '') throw failureAt(40157, 'the count field must be a non-empty string');
  if (name.startsWith('$')) throw failureAt(40158, 'the count field cannot be a $-prefixed path');
  if (name.includes('\0')) throw failureAt(40159, 'the count field cannot contain a null byte');
  if (name.includes('.')) throw failureAt(40160, `the count field cannot contain '.'`);
  return function* count(documents) {
    let total = 0;
    for (const document of documents) {
      if (document) total++;
      else yield undefined;
    }
    if (total > 0) yield new Map([[name, new Int32(total)]]);
  };
}
