import { ACME } from '../tenants.js';

/** Kinds of values, each with the operators that the grammar of queries gives it. */
export const OPERATORS = {
  string: ['eq', 'ne', 'in', 'nin', 'exists', 'contains', 'startsWith'],
  number: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'exists'],
  timestamp: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'exists'],
  boolean: ['eq', 'ne', 'exists'],
  identifier: ['eq', 'ne', 'in', 'nin', 'exists'],
} as const;

/** What a resource lets clients ask for. */
export interface Surface {
  /** Name of its collection. */
  name: string;
  /** Path of its routes; `:vaultId` stands for that of a vault. */
  path: string;
  filters: Readonly<Record<string, keyof typeof OPERATORS>>;
  orders: readonly string[];
  fields: readonly string[];
  expand: readonly string[];
  /** The field that an archive sets; its filter and orders are offered with `archived` alone. */
  archive?: string;
  batches: readonly ('bulk' | 'import')[];
  /** A field that takes any text. */
  text: string;
}

/** A record as it is stored. */
export type Stored = Readonly<Record<string, unknown>>;

export const SURFACES: readonly Surface[] = [
  {
    name: 'posts',
    path: '/posts/api',
    filters: {
      _id: 'identifier',
      title: 'string',
      tags: 'string',
      tenant: 'identifier',
      createdAt: 'timestamp',
      updatedAt: 'timestamp',
      deletedAt: 'timestamp',
    },
    orders: ['-createdAt', '-updatedAt', 'title', '-deletedAt'],
    fields: ['_id', 'title', 'content', 'tags', 'tenant', 'deletedAt', 'createdAt'],
    expand: [],
    archive: 'deletedAt',
    batches: [],
    text: 'title',
  },
  {
    name: 'todos',
    path: '/todos',
    filters: { _id: 'identifier', title: 'string', completed: 'boolean', createdAt: 'timestamp' },
    orders: ['-createdAt', '-updatedAt', 'title', 'completed,dueAt'],
    fields: ['_id', 'title', 'completed'],
    expand: [],
    batches: ['bulk', 'import'],
    text: 'title',
  },
  {
    name: 'keepers',
    path: '/keepers',
    filters: { _id: 'identifier', name: 'string', level: 'number', tenant: 'identifier' },
    orders: ['-createdAt', 'name', 'level'],
    fields: ['_id', 'name', 'level', 'tenant'],
    expand: [],
    batches: ['bulk'],
    text: 'name',
  },
  {
    name: 'vaults',
    path: '/vaults',
    filters: {
      _id: 'identifier',
      name: 'string',
      tags: 'string',
      level: 'number',
      dueAt: 'timestamp',
      'box.label': 'string',
      keeper: 'identifier',
      tenant: 'identifier',
      closedAt: 'timestamp',
    },
    orders: ['-createdAt', 'name', 'level,-dueAt', '-closedAt'],
    fields: ['_id', 'name', 'box', 'keeper', 'closedAt', 'level'],
    expand: ['keeper'],
    archive: 'closedAt',
    batches: ['bulk', 'import'],
    text: 'name',
  },
  {
    name: 'cards',
    path: '/vaults/:vaultId/cards',
    filters: { _id: 'identifier', name: 'string', keeper: 'identifier' },
    orders: ['-createdAt', 'name'],
    fields: ['_id', 'name', 'keeper', 'vault'],
    expand: ['keeper', 'vault', 'keeper,vault'],
    batches: ['bulk', 'import'],
    text: 'name',
  },
  {
    name: 'diaries',
    path: '/diaries',
    filters: { _id: 'identifier', name: 'string', owner: 'string', tenant: 'identifier' },
    orders: ['-createdAt', 'name'],
    fields: ['_id', 'name', 'owner'],
    expand: [],
    batches: ['import'],
    text: 'name',
  },
  {
    name: 'notices',
    path: '/notices',
    filters: { _id: 'identifier', name: 'string', vault: 'identifier' },
    orders: ['-createdAt', 'name', '-updatedAt'],
    fields: ['_id', 'name', 'vault', 'diary', 'fee'],
    expand: ['vault', 'diary', 'vault,diary'],
    batches: ['bulk'],
    text: 'name',
  },
];

/** The person who calls: of ACME, or nobody at all. */
export const PERSON = 'ada';

/** Whether a caller of ACME by the name of {@link PERSON} may see a record, in its archive too. */
export function isSeen(name: string, record: Stored, vaults: ReadonlyMap<string, Stored>): boolean {
  const isOwn = String(record.tenant) === ACME;
  const isThere = (vault: Stored | undefined) =>
    vault !== undefined && String(vault.tenant) === ACME && !vault.closedAt;
  const rules: Readonly<Record<string, () => boolean>> = {
    posts: () => isOwn || !record.deletedAt,
    todos: () => true,
    keepers: () => isOwn,
    vaults: () => isOwn,
    cards: () => isOwn && isThere(vaults.get(String(record.vault))),
    diaries: () => isOwn && record.owner === PERSON,
    notices: () => record.withdrawn !== true,
  };
  return rules[name]?.() ?? true;
}
