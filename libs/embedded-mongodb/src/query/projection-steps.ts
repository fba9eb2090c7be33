import { toDouble } from '../bson/numbers.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber } from '../bson/types.js';
import { compileElementMatch } from './element.js';

/** The part of a projection that runs after the others; `original` is the document before any of them. */
export type FindStep = (projected: BsonDocument, original: BsonDocument) => BsonDocument;

/**
 * `$slice: n` and `$slice: [skip, n]`.
 *
 * @returns `undefined` for what is neither, such as the expression `$slice: ['$field', n]`.
 */
export function sliceStep(path: string, argument: BsonValue): FindStep | undefined {
  const names = path.split('.');
  if (isNumber(argument)) {
    const count = wholeNumber(argument);
    return (projected) =>
      sliced(projected, names, (array) =>
        count < 0 ? array.slice(count) : array.slice(0, count),
      ) as BsonDocument;
  }
  if (!Array.isArray(argument) || argument.length !== 2) return undefined;
  const [skip, limit] = argument;
  if (!isNumber(skip) || !isNumber(limit)) return undefined;
  const [start, count] = [wholeNumber(skip), wholeNumber(limit)];
  if (count <= 0) return undefined;
  return (projected) =>
    sliced(projected, names, (array) => {
      const from = start < 0 ? Math.max(0, array.length + start) : start;
      return array.slice(from, from + count);
    }) as BsonDocument;
}

/** `$elemMatch`: the first element that matches, alone in its array; nothing when there is none. */
export function elementMatchStep(path: string, condition: BsonDocument): FindStep {
  const { matches } = compileElementMatch(condition);
  return (projected, original) => {
    const array = original.get(path);
    const found = Array.isArray(array) ? array.find(matches) : undefined;
    const result = new Map(projected);
    if (found === undefined) result.delete(path);
    else result.set(path, [found]);
    return result;
  };
}

function sliced(
  value: BsonValue,
  names: readonly string[],
  cut: (array: BsonValue[]) => BsonValue[],
): BsonValue {
  const [name, ...rest] = names;
  if (name === undefined) return Array.isArray(value) ? cut(value) : value;
  if (Array.isArray(value))
    return value.map((element) => (isDocument(element) ? sliced(element, names, cut) : element));
  const child = isDocument(value) ? value.get(name) : undefined;
  return child === undefined ? value : new Map(value as BsonDocument).set(name, sliced(child, rest, cut));
}

function wholeNumber(value: BsonValue): number {
  const number = isNumber(value) ? Math.trunc(toDouble(value)) : 0;
  return Math.max(-0x80000000, Math.min(0x7fffffff, number));
}
