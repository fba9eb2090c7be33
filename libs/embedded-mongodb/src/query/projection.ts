import { compileExpression } from '../aggregate/expression.js';
import { fieldPath } from '../aggregate/field-path.js';
import { constant } from '../aggregate/scope.js';
import { describeField } from '../bson/describe.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber } from '../bson/types.js';
import { type CommandError, failureAt, unsupported } from '../errors.js';
import { isTruthy } from '../bson/truth.js';
import { type Leaf, ProjectionTree } from './projection-tree.js';

/** A compiled projection. */
export interface Projection {
  apply(document: BsonDocument): BsonDocument;
}

/** One field of the specification. */
interface ProjectedField {
  path: string;
  leaf: Leaf;
}

/**
 * The projection of a `find` or a `$project`; an empty one keeps everything.
 *
 * @see https://www.mongodb.com/docs/manual/reference/method/db.collection.find/#projection
 */
export function compileProjection(spec: BsonDocument): Projection {
  if (spec.size === 0) return { apply: (document) => document };
  const { entries, including } = new ProjectionReader().read(spec);
  const tree = new ProjectionTree();
  if (including && !entries.some(({ path }) => path === '_id' || path.startsWith('_id.')))
    tree.add(['_id'], 'include');
  for (const { path, leaf } of entries) {
    const kept = leafOf(path, leaf, including);
    if (kept) tree.add(path.split('.'), kept);
  }
  return {
    apply: (document) => tree.compute(including ? tree.include(document) : tree.exclude(document), document),
  };
}

/** The effect on a field: only `_id` may be included or excluded against the rule of the others. */
function leafOf(path: string, leaf: Leaf, including: boolean): Leaf | undefined {
  if (path !== '_id' || leaf !== (including ? 'exclude' : 'include')) return leaf;
  return including ? { compute: constant(undefined) } : undefined;
}

/**
 * Reads a specification field by field. The first one to include, exclude or compute decides the mode of the
 * whole.
 */
class ProjectionReader {
  private readonly entries: ProjectedField[] = [];
  private including: boolean | undefined;

  read(spec: BsonDocument): { entries: ProjectedField[]; including: boolean } {
    for (const [path, value] of spec) this.field(path, value);
    const { entries } = this;
    // Without a deciding field, `_id: 1` keeps nothing else, and `_id: 0` everything.
    const including = this.including ?? entries.some(({ leaf }) => leaf === 'include');
    return { entries, including };
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
    if (value.size === 1 && operator.startsWith('$')) this.computed(path, value);
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
    const compute = compileExpression(value);
    this.including ??= true;
    if (!this.including) {
      throw isDocument(value)
        ? failureAt(31252, 'Cannot use expression other than $meta in exclusion projection')
        : failureAt(
            31310,
            `Cannot use an expression ${describeField(path, value)} in an exclusion projection`,
          );
    }
    this.entries.push({ path, leaf: { compute } });
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
