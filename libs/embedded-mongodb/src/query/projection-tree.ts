import { type BsonDocument, type BsonValue, isDocument } from '../bson/types.js';
import type { Expression } from '../aggregate/scope.js';

/** The effect of a projection on one field. */
export type Leaf = 'include' | 'exclude' | { compute: Expression };

/** A projection by field name, with the order in which computed fields are added. */
export class ProjectionTree {
  private readonly leaves = new Map<string, Leaf>();
  private readonly children = new Map<string, ProjectionTree>();
  /** All names, in the order of their first occurrence. */
  private readonly names = new Set<string>();
  private computes = false;

  /** Adds a path. Paths must not collide: none may be, or lead through, another. */
  add([name = '', ...rest]: readonly string[], leaf: Leaf): void {
    if (typeof leaf === 'object') this.computes = true;
    this.names.add(name);
    if (rest.length === 0) {
      this.leaves.set(name, leaf);
      return;
    }
    const child = this.children.get(name) ?? new ProjectionTree();
    this.children.set(name, child);
    child.add(rest, leaf);
  }

  /** Only the named fields, in the document's order. */
  include(document: BsonDocument): BsonDocument {
    const result: BsonDocument = new Map();
    for (const [name, value] of document) {
      if (this.leaves.get(name) === 'include') result.set(name, value);
      const inner = this.children.get(name)?.includeValue(value);
      if (inner !== undefined) result.set(name, inner);
    }
    return result;
  }

  /** All fields except the named ones. */
  exclude(document: BsonDocument): BsonDocument {
    const result: BsonDocument = new Map();
    for (const [name, value] of document) {
      if (this.leaves.get(name) === 'exclude') continue;
      result.set(name, this.children.get(name)?.excludeValue(value) ?? value);
    }
    return result;
  }

  /**
   * Adds the computed fields to a document in place; new ones come last, in the order in which they were
   * given.
   */
  compute(target: BsonDocument, document: BsonDocument): BsonDocument {
    if (!this.computes) return target;
    for (const name of this.names) {
      const leaf = this.leaves.get(name);
      const child = this.children.get(name);
      let value = target.get(name);
      if (typeof leaf === 'object') value = leaf.compute(document);
      else if (child?.computes) value = child.computeValue(value, document);
      else continue;
      if (value === undefined) target.delete(name);
      else target.set(name, value);
    }
    return target;
  }

  private includeValue(value: BsonValue): BsonValue | undefined {
    if (isDocument(value)) return this.include(value);
    // A document that is computed here later replaces the current value.
    if (!Array.isArray(value)) return this.computes ? new Map() : undefined;
    return value.flatMap((element) => {
      const inner = this.includeValue(element);
      return inner === undefined ? [] : [inner];
    });
  }

  private excludeValue(value: BsonValue): BsonValue {
    if (isDocument(value)) return this.exclude(value);
    return Array.isArray(value) ? value.map((element) => this.excludeValue(element)) : value;
  }

  /** Inside an array, every element gets the fields; an element that is not a document is replaced by one. */
  private computeValue(value: BsonValue | undefined, document: BsonDocument): BsonValue {
    if (Array.isArray(value)) return value.map((element) => this.computeValue(element, document));
    return this.compute(isDocument(value) ? new Map(value) : new Map(), document);
  }
}
