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
  /** The fields that clients write, a `!` after those that a create must have. @default no client writes */
  input?: string;
}

/** A record as it is stored. */
export type Stored = Readonly<Record<string, unknown>>;

/** Fields by their kinds, each with its names in one text. */
export const kinds = (names: Partial<Record<keyof typeof OPERATORS, string>>): Surface['filters'] =>
  Object.fromEntries(
    Object.entries(names).flatMap(([kind, fields]) => fields.split(' ').map((field) => [field, kind])),
  ) as Surface['filters'];

export const PLAIN = { expand: [], batches: [], text: 'name' } as const;

export const SURFACES: readonly Surface[] = [
  {
    ...PLAIN,
    name: 'posts',
    path: '/posts/api',
    filters: kinds({
      identifier: '_id tenant',
      string: 'title tags',
      timestamp: 'createdAt updatedAt deletedAt',
    }),
    orders: ['-createdAt', '-updatedAt', 'title', '-deletedAt'],
    fields: ['_id', 'title', 'content', 'tags', 'tenant', 'deletedAt', 'createdAt'],
    archive: 'deletedAt',
    text: 'title',
  },
  {
    ...PLAIN,
    name: 'todos',
    path: '/todos',
    filters: kinds({ identifier: '_id', string: 'title', boolean: 'completed', timestamp: 'createdAt' }),
    orders: ['-createdAt', '-updatedAt', 'title', 'completed,dueAt'],
    fields: ['_id', 'title', 'completed'],
    batches: ['bulk', 'import'],
    text: 'title',
  },
  {
    ...PLAIN,
    name: 'keepers',
    input: 'name! level',
    path: '/keepers',
    filters: kinds({ identifier: '_id tenant', string: 'name', number: 'level' }),
    orders: ['-createdAt', 'name', 'level'],
    fields: ['_id', 'name', 'level', 'tenant'],
    batches: ['bulk'],
  },
  {
    ...PLAIN,
    name: 'vaults',
    input: 'name! tags level dueAt box keeper code',
    path: '/vaults',
    filters: kinds({
      identifier: '_id keeper tenant',
      string: 'name tags box.label',
      number: 'level',
      timestamp: 'dueAt closedAt',
    }),
    orders: ['-createdAt', 'name', 'level,-dueAt', '-closedAt'],
    fields: ['_id', 'name', 'box', 'keeper', 'closedAt', 'level'],
    expand: ['keeper'],
    archive: 'closedAt',
    batches: ['bulk', 'import'],
  },
  {
    ...PLAIN,
    name: 'cards',
    input: 'name! keeper',
    path: '/vaults/:vaultId/cards',
    filters: kinds({ identifier: '_id keeper', string: 'name' }),
    orders: ['-createdAt', 'name'],
    fields: ['_id', 'name', 'keeper', 'vault'],
    expand: ['keeper', 'vault', 'keeper,vault'],
    batches: ['bulk', 'import'],
  },
  {
    ...PLAIN,
    name: 'diaries',
    input: 'name!',
    path: '/diaries',
    filters: kinds({ identifier: '_id tenant', string: 'name owner' }),
    orders: ['-createdAt', 'name'],
    fields: ['_id', 'name', 'owner'],
    batches: ['import'],
  },
  {
    ...PLAIN,
    name: 'notices',
    path: '/notices',
    filters: kinds({ identifier: '_id vault', string: 'name' }),
    orders: ['-createdAt', 'name', '-updatedAt'],
    fields: ['_id', 'name', 'vault', 'diary', 'fee'],
    expand: ['vault', 'diary', 'vault,diary'],
    batches: ['bulk'],
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
