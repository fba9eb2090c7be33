import type { Connection, mongo, Schema } from 'mongoose';

/** An index that a schema declares, by the name that it gets. */
export type DeclaredIndex = mongo.IndexDescription & { name: string };

/** The indexes of a schema, each once. */
export function declaredIndexes(schema: Schema): DeclaredIndex[] {
  const declared = schema.indexes().map(([key, { background: _, ...options }]) => {
    const name = options.name ?? Object.entries(key).flat().join('_');
    return { ...options, key, name } as DeclaredIndex;
  });
  return [...new Map(declared.map((index) => [JSON.stringify(index), index])).values()];
}

/**
 * Checks that a database can have all indexes of a collection: those of one name, or with one effect, are the
 * same.
 *
 * @throws Error that names the collection and two indexes
 */
export function refuseConflictingIndexes(models: Connection['models']): void {
  const known = new Map<string, DeclaredIndex>();
  for (const { collection, schema } of Object.values(models)) {
    for (const index of declaredIndexes(schema)) {
      for (const identity of [index.name, effectOf(index)]) {
        const at = JSON.stringify([collection.name, identity]);
        const other = known.get(at) ?? index;
        known.set(at, other);
        if (JSON.stringify(other) === JSON.stringify(index)) continue;
        throw new Error(`The collection "${collection.name}" would have ${conflictOf(other, index)}`);
      }
    }
  }
}

/** What the database tells indexes apart by, apart from their names. */
function effectOf({ key, unique, sparse, collation, ...index }: DeclaredIndex): unknown {
  const { partialFilterExpression, wildcardProjection } = index;
  return isFullText(key)
    ? 'text'
    : [key, unique, sparse, collation, partialFilterExpression, wildcardProjection];
}

function isFullText(key: mongo.IndexDescription['key']): boolean {
  return Object.values(key).includes('text');
}

function conflictOf(one: DeclaredIndex, other: DeclaredIndex): string {
  const [keys, otherKeys] = [JSON.stringify(one.key), JSON.stringify(other.key)];
  if (one.name === other.name)
    return `two indexes named "${one.name}", with the keys ${keys} and ${otherKeys}. Give one of them another name, or leave it out.`;
  const both = `named "${one.name}" and "${other.name}". Leave one of them out.`;
  return isFullText(one.key) ? `two indexes for full text, ${both}` : `the index ${keys} twice, ${both}`;
}
