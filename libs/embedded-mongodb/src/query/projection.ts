import { compileExpression } from '../aggregate/expression.js';
import { fieldPath } from '../aggregate/field-path.js';
import { constant, noNames, type Variables } from '../aggregate/scope.js';
import { describeField } from '../bson/describe.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber, typeName } from '../bson/types.js';
import { type CommandError, failureAt, unsupported } from '../errors.js';
import { isTruthy } from '../bson/truth.js';
import { type Leaf, ProjectionTree } from './projection-tree.js';
import { elementMatchStep, type FindStep, sliceStep } from './projection-steps.js';

/** A compiled projection. */
export interface Projection {
  apply(document: BsonDocument): BsonDocument;
}

/** Where a projection stands: `find` alone knows `$slice` and `$elemMatch`, and takes an empty one. */
export type ProjectionPlace = 'find' | 'aggregate';

/** One field of the specification, read. */
interface ProjectedField {
  path: string;
  leaf: Leaf | 'elemMatch' | 'slice';
  step?: FindStep;
}

/**
 * @param variables The command's `let`.
 * @see https://www.mongodb.com/docs/manual/reference/method/db.collection.find/#projection
 */
export function compileProjection(
  spec: BsonDocument,
  place: ProjectionPlace = 'find',
  variables: Variables = noNames,
): Projection {
  if (spec.size === 0) {
    if (place === 'find') return { apply: (document) => document };
    throw failureAt(
      51272,
      'Invalid $project :: caused by :: projection specification must have at least one field',
    );
  }
  const { entries, including } = new ProjectionReader(place, variables).read(spec);
  const tree = new ProjectionTree();
  if (including && !entries.some(({ path }) => path === '_id' || path.startsWith('_id.')))
    tree.add(['_id'], 'include');
  for (const { path, leaf } of entries) {
    const kept = leafOf(path, leaf, including);
    if (kept) tree.add(path.split('.'), kept);
  }
  const steps = entries.flatMap(({ step }) => step ?? []);
  return {
    apply(document) {
      const base = including ? tree.include(document) : tree.exclude(document);
      tree.compute(base, document);
      return steps.reduce((result, step) => step(result, document), base);
    },
  };
}

/** What the tree does with a field, if anything. */
function leafOf(path: string, leaf: ProjectedField['leaf'], including: boolean): Leaf | undefined {
  if (leaf === 'slice') return including ? 'include' : undefined;
  if (leaf === 'elemMatch') return undefined;
  // `_id` alone may be included or excluded against the rule of the others.
  if (path === '_id' && leaf === (including ? 'exclude' : 'include'))
    return including ? { compute: constant(undefined) } : undefined;
  return leaf;
}

/** Reads a specification field by field; the first one to include, exclude or compute decides what all of it does. */
class ProjectionReader {
  private readonly entries: ProjectedField[] = [];
  private including: boolean | undefined;

  constructor(
    private readonly place: ProjectionPlace,
    private readonly variables: Variables,
  ) {}

  read(spec: BsonDocument): { entries: ProjectedField[]; including: boolean } {
    for (const [path, value] of spec) this.field(path, value);
    const { entries } = this;
    return { entries, including: this.including ?? this.defaultsToInclusion() };
  }

  /** Without a deciding field, `_id: 1` and `$elemMatch` keep nothing else, `$slice` and `_id: 0` everything. */
  private defaultsToInclusion(): boolean {
    if (this.entries.some(({ path, leaf }) => path === '_id' && leaf === 'include')) return true;
    return this.has('elemMatch') && !this.has('slice');
  }

  private has(wanted: ProjectedField['leaf']): boolean {
    return this.entries.some(({ leaf }) => leaf === wanted);
  }

  private field(path: string, value: BsonValue): void {
    checkPath(path);
    if (isNumber(value) || typeof value === 'boolean') this.decide(path, isTruthy(value));
    else if (isDocument(value)) this.document(path, value);
    else this.computed(path, value);
  }

  private document(path: string, value: BsonDocument): void {
    const operator = value.keys().next().value;
    if (operator === undefined) {
      throw failureAt(51270, 'An empty sub-projection is not a valid value. Found empty object at path');
    }
    if (value.size > 1) this.nested(path, value);
    else if (operator === '$meta') throw unsupported('The projection of $meta');
    else if (this.place === 'find' && operator === '$slice') this.slice(path, value);
    else if (this.place === 'find' && operator === '$elemMatch') this.elementMatch(path, value);
    else if (operator.startsWith('$')) this.computed(path, value);
    else this.nested(path, value);
  }

  private nested(path: string, value: BsonDocument): void {
    const outer = this.collision(path);
    if (outer?.code === 31249) throw outer;
    for (const [name, inner] of value) this.field(`${path}.${name}`, inner);
  }

  private decide(path: string, include: boolean): void {
    this.checkCollision(path);
    if (path !== '_id') {
      this.including ??= include;
      if (include && !this.including) {
        throw failureAt(31253, `Cannot do inclusion on field ${path} in exclusion projection`);
      }
      if (!include && this.including) {
        throw failureAt(31254, `Cannot do exclusion on field ${path} in inclusion projection`);
      }
    }
    this.entries.push({ path, leaf: include ? 'include' : 'exclude' });
  }

  private computed(path: string, value: BsonValue): void {
    this.checkCollision(path);
    this.expression(path, value);
  }

  private expression(path: string, value: BsonValue): void {
    const compute = compileExpression(value, this.variables);
    if (this.including !== false) {
      this.including = true;
      this.entries.push({ path, leaf: { compute } });
      return;
    }
    if (isDocument(value))
      throw failureAt(31252, 'Cannot use expression other than $meta in exclusion projection');
    throw failureAt(
      31310,
      `Cannot use an expression ${describeField(path, value)} in an exclusion projection`,
    );
  }

  /** What is not the `$slice` of a find may still be the expression of that name. */
  private slice(path: string, value: BsonDocument): void {
    const argument = value.get('$slice') as BsonValue;
    const collision = this.collision(path);
    if (collision && this.including !== false && Array.isArray(argument)) throw collision;
    const step = collision ? undefined : sliceStep(path, argument);
    if (step) this.entries.push({ path, leaf: 'slice', step });
    else this.expression(path, value);
  }

  private elementMatch(path: string, value: BsonDocument): void {
    const argument = value.get('$elemMatch') as BsonValue;
    if (!isDocument(argument)) {
      throw failureAt(31274, `elemMatch: Invalid argument, object required, but got ${typeName(argument)}`);
    }
    if (path.includes('.')) throw failureAt(31275, 'Cannot use $elemMatch projection on a nested field.');
    const step = elementMatchStep(path, argument);
    this.checkCollision(path);
    this.entries.push({ path, leaf: 'elemMatch', step });
  }

  private checkCollision(path: string): void {
    const collision = this.collision(path);
    if (collision) throw collision;
  }

  private collision(path: string): CommandError | undefined {
    for (const { path: other } of this.entries) {
      if (path === other || other.startsWith(`${path}.`))
        return failureAt(31250, `Path collision at ${path}`);
      if (path.startsWith(`${other}.`)) {
        return failureAt(
          31249,
          `Path collision at ${path} remaining portion ${path.slice(other.length + 1)}`,
        );
      }
    }
    return undefined;
  }
}

function checkPath(path: string): void {
  if (path.endsWith('.$') || path.includes('.$.')) throw unsupported('The positional projection');
  fieldPath(path);
}
