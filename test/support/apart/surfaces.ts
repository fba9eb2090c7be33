import type { CrudOptions } from '../../../src/common/crud/index.js';
import { postsCrud } from '../../../src/posts/posts.crud.js';
import type { OPERATORS } from '../query-words.js';
import type { Made } from '../resource.js';

type Kind = keyof typeof OPERATORS;

/** The kinds of fields by their names; of those that are not here, text. */
const KINDS: Readonly<Record<string, Kind>> = {
  ...{ _id: 'identifier', tenant: 'identifier', record: 'identifier' },
  ...{ keeper: 'identifier', vault: 'identifier', circle: 'identifier' },
  ...{ level: 'number', salary: 'number', completed: 'boolean' },
  ...{ dueAt: 'timestamp', closedAt: 'timestamp', deletedAt: 'timestamp' },
  ...{ createdAt: 'timestamp', updatedAt: 'timestamp' },
};

/** The collections of the references that bodies can make. */
export const REFERENCES: Readonly<Record<string, string>> = {
  ...{ keeper: 'keepers', vault: 'vaults', diary: 'diaries', dossier: 'dossiers', ticket: 'tickets' },
  ...{ circle: 'circles', above: 'circles', needed: 'circles' },
};

/** What a resource lets clients ask for. */
export interface Surface {
  name: string;
  /** Path of its routes; `:vaultId` stands for that of a vault. */
  path: string;
  filters: Readonly<Record<string, Kind>>;
  orders: readonly string[];
  fields: readonly string[];
  expand: readonly string[];
  /** The field that an archive sets; its filter and orders are offered with `archived` alone. */
  archive?: string;
  batches: readonly ('bulk' | 'import')[];
  /** A field that takes any text. */
  text: string;
  /** The fields that clients write, a `!` after those that a create must have. */
  input: readonly string[];
}

export type Stored = Readonly<Record<string, unknown>>;

/** What a resource lets clients ask for. @param input as `Surface.input`, a text first @param shown further fields of answers */
export function surfaceOf(options: CrudOptions<Made, Made>, input: string, shown = ''): Surface {
  const { name, path = name, query = {}, references = {}, archive } = options;
  const [filter, refer] = [query.filter ?? [], Object.keys(references)];
  const written = input.split(' ').filter(Boolean);
  const [text = shown, ...others] = written.map((field) => field.replace('!', ''));
  const kindOf = (field: string) => (name === 'sheets' ? undefined : KINDS[field]) ?? 'string';
  return {
    ...{ name, path: `/${path}`, archive: archive?.field, text, input: written },
    filters: Object.fromEntries(
      filter.map((field) => [field, field === '_id' ? 'identifier' : kindOf(field)]),
    ),
    orders: [...new Set(['-createdAt', ...(query.sort ?? []).map((order) => [order].flat().join())])],
    fields: [...new Set(['_id', ...filter, text, ...others, ...refer, ...shown.split(' ')])].filter(Boolean),
    expand: [...refer, ...(refer.length > 1 ? [refer.join()] : [])],
    batches: (['bulk', 'import'] as const).filter((batch) => options[batch]),
  };
}

const TODOS = {
  query: {
    filter: ['_id', 'title', 'completed', 'createdAt'],
    sort: ['-updatedAt', 'title', 'completed,dueAt'],
  },
  ...{ name: 'todos', bulk: true, import: true },
};

/** Those of the service itself. */
export const SERVICE_SURFACES: readonly Surface[] = [
  surfaceOf(postsCrud as never, 'title! content tags'),
  surfaceOf(TODOS as never, 'title! completed'),
];
