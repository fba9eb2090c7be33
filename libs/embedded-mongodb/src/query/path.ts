import { type BsonDocument, type BsonValue, isDocument } from '../bson/types.js';

/** A dotted path, split into names. */
export type Path = readonly string[];

/** A test of one value; `undefined` is a missing one. */
export type Test = (value: BsonValue | undefined) => boolean;

export function parsePath(path: string): Path {
  return path.split('.');
}

/**
 * Whether a test is true for one of the values at a path.
 *
 * Documents inside arrays are searched one by one, and a number in the path also names an element. Arrays
 * directly inside arrays are entered by number only, and an element named by the path's last number is tested
 * as a whole. A path without a value gives one missing value, except through an array.
 *
 * @param elements Whether an array at the path's end is tested element by element before it is tested as a
 * whole.
 */
export function someAt(
  document: BsonDocument,
  path: Path,
  elements: boolean,
  test: Test,
  depth = 0,
): boolean {
  let value: BsonValue = document;
  for (let index = depth; index < path.length; index++) {
    if (Array.isArray(value)) return someInArray(value, path, index, elements, test);
    const next: BsonValue | undefined = isDocument(value) ? value.get(path[index] as string) : undefined;
    if (next === undefined) return test(undefined);
    value = next;
  }
  return testLeaf(value, elements, test);
}

function someInArray(
  array: readonly BsonValue[],
  path: Path,
  depth: number,
  elements: boolean,
  test: Test,
): boolean {
  return array.some((element, position) => {
    if (isDocument(element) && someAt(element, path, elements, test, depth)) return true;
    if (path[depth] !== String(position)) return false;
    if (depth === path.length - 1) return test(element);
    if (isDocument(element)) return someAt(element, path, elements, test, depth + 1);
    return Array.isArray(element) && someInArray(element, path, depth + 1, elements, test);
  });
}

function testLeaf(value: BsonValue, elements: boolean, test: Test): boolean {
  return (elements && Array.isArray(value) && value.some(test)) || test(value);
}
