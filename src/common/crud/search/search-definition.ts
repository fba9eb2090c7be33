import { createHash } from 'node:crypto';

/** Hidden member of a record that holds the words of its searched fields. Only the store knows it. */
export const WORDS = '_words';

/** Increased when words are made or stored differently, so that the words of every record are made again. */
const FORMAT = 1;

/** The fields that `q` searches. */
export interface SearchDefinition {
  /** Paths of the fields that are searched. */
  readonly fields: readonly string[];
  /**
   * Path of the stored words, a list with an entry for each field. The path names the declaration, so that
   * the words of other fields, as another version of the service stores them, are not mistaken for these.
   */
  readonly path: string;
  /** The sets of fields that scope lists and counts. Each set gets an index that finds the words. */
  readonly scopes: readonly (readonly string[])[];
}

/** The definition of a search, if any field is searched. */
export function searchDefinition(
  fields: readonly string[],
  scopes: readonly (readonly string[])[],
): SearchDefinition | undefined {
  if (fields.length === 0) return undefined;
  const declaration = JSON.stringify([FORMAT, process.versions.unicode, fields]);
  const version = createHash('sha256').update(declaration).digest('hex').slice(0, 8);
  return { fields, path: `${WORDS}.v${version}`, scopes };
}
