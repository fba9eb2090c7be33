import { describeField } from '../bson/describe.js';
import { type BsonDocument, type BsonValue, isDocument } from '../bson/types.js';
import { failure, unsupported } from '../errors.js';
import { type FieldChange, keep, type Modifier, type ModifierContext, remove } from './modifier.js';
import { dollarPrefixed } from './id.js';
import { arrayPosition } from './path.js';

/** An update's work on one field. */
export interface Step {
  path: string;
  names: readonly string[];
  modifier: Modifier;
  /** Runs if the modifier did not keep the field. */
  after?: Step;
}

/** Maximum number of elements that may be added to an array by naming a position beyond its end. */
const largestPadding = 10_000;

/**
 * Adds a path to those that an update changes.
 *
 * @throws CommandError ConflictingUpdateOperators (40) if one path is, or leads through, another.
 */
export function reservePath(reserved: Map<string, readonly string[]>, names: readonly string[]): void {
  const path = names.join('.');
  for (const [otherPath, other] of reserved) {
    if (!isPrefix(other, names) && !isPrefix(names, other)) continue;
    const at = other.length < names.length ? otherPath : path;
    throw failure(
      'ConflictingUpdateOperators',
      `Updating the path '${path}' would create a conflict at '${at}'`,
    );
  }
  reserved.set(path, names);
}

/** Sorts by path, the order in which MongoDB adds new fields. */
export function orderSteps(steps: readonly Step[]): Step[] {
  return [...steps].sort((a, b) => comparePaths(a.names, b.names));
}

/** Runs the steps on a copy of the document. */
export function applySteps(
  steps: readonly Step[],
  document: BsonDocument,
  options: { insert: boolean; now: Date },
): { document: BsonDocument; changed: boolean } {
  let current = document;
  const run = (step: Step): void => {
    const context = { ...options, document, path: step.path };
    const next = changeAt(current, step.names, 0, step.modifier, context);
    if (next === keep) return;
    if (step.names[0] === '_id' && document.has('_id')) {
      throw failure(
        'ImmutableField',
        `Performing an update on the path '${step.path}' would modify the immutable field '_id'`,
      );
    }
    const [top = ''] = step.names;
    if (top.startsWith('$') && !document.has(top) && !options.insert) throw dollarPrefixed(top, top);
    current = next as BsonDocument;
    if (step.after) run(step.after);
  };
  steps.forEach(run);
  return { document: current, changed: current !== document };
}

/** A copy of a value with a change inside it; parts beside the path are shared with the original. */
function changeAt(
  value: BsonValue,
  names: readonly string[],
  depth: number,
  modifier: Modifier,
  context: ModifierContext,
): FieldChange {
  if (depth === names.length) return modifier.change(value, context);
  const name = names[depth] as string;
  const child = childOf(value, name);
  if (child !== undefined) {
    const next = changeAt(child, names, depth + 1, modifier, context);
    return next === keep ? keep : withChild(value, name, next);
  }
  if (modifier.missing !== 'create') {
    if (modifier.missing === 'check') checkTraversable(value, names, depth, context.path);
    return keep;
  }
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
    const position = arrayPosition(name) as number;
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

function checkTraversable(value: BsonValue, names: readonly string[], depth: number, path: string): void {
  const name = names[depth] as string;
  if (isDocument(value) || (Array.isArray(value) && arrayPosition(name) !== undefined)) return;
  const element = describeField(names[depth - 1] ?? '', value);
  throw failure(
    'PathNotViable',
    `Cannot use the part (${name}) of (${path}) to traverse the element ({${element}})`,
  );
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
  if (position - value.length > largestPadding)
    throw unsupported(`Setting an element more than ${largestPadding} places behind the end of an array`);
}

function nest(leaf: BsonValue, names: readonly string[]): BsonValue {
  return names.reduceRight<BsonValue>((value, name) => new Map([[name, value]]), leaf);
}

function isPrefix(shorter: readonly string[], longer: readonly string[]): boolean {
  return shorter.length <= longer.length && shorter.every((name, index) => name === longer[index]);
}

/** Compares name by name: numbers by value, everything else by character. */
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
