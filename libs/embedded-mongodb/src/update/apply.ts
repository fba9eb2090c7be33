import { describeField } from '../bson/describe.js';
import { type BsonDocument, type BsonValue, isDocument } from '../bson/types.js';
import { failure } from '../errors.js';
import { type Change, keep, type Modifier, type ModifierContext, remove } from './modifier.js';
import { arrayPosition } from './path.js';

/** One field that an update touches. */
export interface Step {
  path: string;
  names: readonly string[];
  /** Without one the path is only reserved: another operator at it would be a conflict. */
  modifier?: Modifier;
  /** Runs when the modifier did not keep the field. */
  after?: Step;
}

/** Elements that may be added to an array by naming a position beyond its end. */
const largestPadding = 1_500_000;

/**
 * Sorts by path, the order in which MongoDB adds new fields.
 *
 * @throws CommandError ConflictingUpdateOperators (40) when one path is, or leads through, another.
 */
export function orderSteps(steps: readonly Step[]): Step[] {
  const seen = new Map<string, Step>();
  for (const step of steps) {
    const conflict = [...seen.values()].find(
      (other) => isPrefix(other.names, step.names) || isPrefix(step.names, other.names),
    );
    if (conflict) {
      const at = conflict.names.length < step.names.length ? conflict.path : step.path;
      throw failure(
        'ConflictingUpdateOperators',
        `Updating the path '${step.path}' would create a conflict at '${at}'`,
      );
    }
    seen.set(step.path, step);
  }
  return steps.filter((step) => step.modifier).sort((a, b) => comparePaths(a.names, b.names));
}

/** Runs the steps over a copy of the document. */
export function applySteps(
  steps: readonly Step[],
  document: BsonDocument,
  options: { insert: boolean; now: Date },
): { document: BsonDocument; changed: boolean } {
  let current = document;
  const run = (step: Step): void => {
    if (!step.modifier) return;
    const context = { ...options, document, path: step.path };
    const next = changeAt(current, step.names, 0, step.modifier, context);
    if (next === keep) return;
    if (step.names[0] === '_id' && document.has('_id')) {
      throw failure(
        'ImmutableField',
        `Performing an update on the path '${step.path}' would modify the immutable field '_id'`,
      );
    }
    current = next as BsonDocument;
    if (step.after) run(step.after);
  };
  steps.forEach(run);
  return { document: current, changed: current !== document };
}

/** A copy of a value with the change made below it; what lies beside the path is shared with the original. */
function changeAt(
  value: BsonValue,
  names: readonly string[],
  depth: number,
  modifier: Modifier,
  context: ModifierContext,
): Change {
  if (depth === names.length) return modifier.change(value, context);
  const name = names[depth] as string;
  const child = childOf(value, name);
  if (child !== undefined) {
    const next = changeAt(child, names, depth + 1, modifier, context);
    return next === keep ? keep : withChild(value, name, next);
  }
  if (!modifier.creates) return keep;
  const leaf = modifier.change(undefined, context);
  if (leaf === keep || leaf === remove) return keep;
  checkViable(value, name, names[depth - 1] ?? '');
  return withChild(value, name, nest(leaf, names.slice(depth + 1)));
}

function childOf(value: BsonValue, name: string): BsonValue | undefined {
  if (isDocument(value)) return value.get(name);
  const position = Array.isArray(value) ? arrayPosition(name) : undefined;
  return position === undefined ? undefined : (value as BsonValue[])[position];
}

function withChild(value: BsonValue, name: string, child: BsonValue | typeof remove): BsonValue {
  if (Array.isArray(value)) {
    const position = Number(name);
    const copy = [...value];
    while (copy.length < position) copy.push(null);
    copy[position] = child === remove ? null : child;
    return copy;
  }
  const copy: BsonDocument = new Map(value as BsonDocument);
  if (child === remove) copy.delete(name);
  else copy.set(name, child);
  return copy;
}

function checkViable(value: BsonValue, name: string, parent: string): void {
  const position = arrayPosition(name);
  if (isDocument(value)) return;
  if (!Array.isArray(value) || position === undefined) {
    throw failure(
      'PathNotViable',
      `Cannot create field '${name}' in element {${describeField(parent, value)}}`,
    );
  }
  if (position - value.length > largestPadding) {
    throw failure('CannotIndexParallelArrays', `can't backfill more than ${largestPadding} elements`);
  }
}

function nest(leaf: BsonValue, names: readonly string[]): BsonValue {
  return names.reduceRight<BsonValue>((value, name) => new Map([[name, value]]), leaf);
}

function isPrefix(shorter: readonly string[], longer: readonly string[]): boolean {
  return shorter.length <= longer.length && shorter.every((name, index) => name === longer[index]);
}

/** Name by name: numbers by their value, everything else by its characters. */
function comparePaths(a: readonly string[], b: readonly string[]): number {
  for (let index = 0; index < Math.min(a.length, b.length); index++) {
    const [left, right] = [a[index] as string, b[index] as string];
    if (left === right) continue;
    const [first, second] = [arrayPosition(left), arrayPosition(right)];
    if (first !== undefined && second !== undefined) return first - second;
    return Buffer.compare(Buffer.from(left), Buffer.from(right));
  }
  return a.length - b.length;
}
