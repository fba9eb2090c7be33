import { createHash } from 'node:crypto';

/** Hidden member of a record that holds the words of its searched fields; no definition knows it, only the store. */
export const WORDS = '_words';

/** Raised when words are made or stored in another way, so that those of every record are made anew. */
const FORMAT = 1;

/** The fields that `q` searches. */
export interface SearchDefinition {
  /** Paths of the fields that are searched. */
  readonly fields: readonly string[];
  /**
   * Path of the stored words, a list with an entry for each field. It names the declaration, so that words of other fields,
   * as another version of the service stores them, are never taken for those of these.
   */
  readonly path: string;
  /** Fields that lists and counts are filtered by besides; for each set of them an index finds the words. */
  readonly scopes: readonly (readonly string[])[];
}

/** The definition of a search; undefined if no field is searched. */
export function searchDefinition(
  fields: readonly string[],
  scopes: readonly (readonly string[])[],
): SearchDefinition | undefined {
  if (fields.length === 0) return undefined;
  const declaration = JSON.stringify([FORMAT, process.versions.unicode, fields]);
  const version = createHash('sha256').update(declaration).digest('hex').slice(0, 8);
  return { fields, path: `${WORDS}.v${version}`, scopes };
}
