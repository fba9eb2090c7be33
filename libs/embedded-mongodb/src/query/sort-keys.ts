import { BsonUndefined, type BsonDocument, type BsonValue, isDocument } from '../bson/types.js';
import { failureAt } from '../errors.js';
import type { Path } from './path.js';

/** A field of a compound key that is still to be found, and where to look. */
interface Pending {
  slot: number;
  base: BsonValue | undefined;
  rest: Path;
  /** Set for an array that a number picked out of another one: it counts as one value. */
  whole?: boolean;
}

/**
 * All keys that a document has over several paths at once. An array along the paths gives one key per element; an empty
 * one counts as undefined, a missing field as null. Paths through the same array take their values from the same element.
 *
 * @param onParallelArrays Called when two paths lead into two different arrays, which would give a key per pair; throws.
 */
export function compoundKeys(
  document: BsonDocument,
  paths: readonly Path[],
  onParallelArrays: () => never,
): BsonValue[][] {
  const result: BsonValue[][] = [];
  const pending = paths.map((rest, slot) => ({ slot, base: document, rest }));
  collect(pending, new Array<BsonValue>(paths.length).fill(null), result, onParallelArrays);
  return result;
}

function collect(
  pending: readonly Pending[],
  key: BsonValue[],
  result: BsonValue[][],
  onParallelArrays: () => never,
): void {
  let array: BsonValue[] | undefined;
  const inside: { slot: number; rest: Path }[] = [];
  for (const { slot, base, rest, whole } of pending) {
    const found = descend(base, rest);
    if (!Array.isArray(found.base) || (whole && rest.length === 0)) {
      const empty = Array.isArray(found.base) && found.base.length === 0;
      key[slot] = empty ? BsonUndefined.value : (found.base ?? null);
      continue;
    }
    if (array && array !== found.base) onParallelArrays();
    array = found.base;
    inside.push({ slot, rest: found.rest });
  }
  if (!array) {
    result.push(key);
    return;
  }
  for (const element of array.length === 0 ? [BsonUndefined.value] : array) {
    const next = [...key];
    const deeper = inside.flatMap(({ slot, rest }) => {
      if (rest.length === 0) {
        next[slot] = element;
        return [];
      }
      return [
        positional(array, element, slot, rest) ?? {
          slot,
          base: isDocument(element) ? element : undefined,
          rest,
        },
      ];
    });
    collect(deeper, next, result, onParallelArrays);
  }
}

/** Follows a path to its end or to the first array on it. */
function descend(base: BsonValue | undefined, path: Path): { base: BsonValue | undefined; rest: Path } {
  let value = base;
  for (let index = 0; index < path.length; index++) {
    if (Array.isArray(value)) return { base: value, rest: path.slice(index) };
    value = isDocument(value) ? value.get(path[index] as string) : undefined;
  }
  return { base: value, rest: [] };
}

/** A number in the path picks one element, whichever element is being looked at. */
function positional(array: BsonValue[], element: BsonValue, slot: number, rest: Path): Pending | undefined {
  const [name, ...after] = rest;
  if (!/^(?:0|[1-9]\d*)$/.test(name ?? '') || Number(name) >= array.length) return undefined;
  if (isDocument(element) && element.has(name ?? '')) {
    throw failureAt(
      16746,
      `Ambiguous field name found in array (do not use numeric field names in embedded elements in an array), field: '${name}'`,
    );
  }
  return { slot, base: array[Number(name)], rest: after, whole: true };
}
