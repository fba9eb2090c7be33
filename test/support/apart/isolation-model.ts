import { SURFACES } from './resources.js';
import { REFERENCES, type Stored, type Surface } from './surfaces.js';

/** Who calls: a person of a tenant, a token that names nobody, or no token at all. */
export interface Caller {
  tenant?: string;
  sub?: string;
  token?: string;
}

/** A record as the model knows it. */
export interface ModelRecord {
  id: string;
  name: string;
  /** Its text: a word that is made for one request. */
  word: string;
  tenant?: string;
  owner?: string;
  /** The vault that a card is below of. */
  vault?: string;
  references: Record<string, string>;
  isArchived: boolean;
}

export type Archived = 'only' | 'include' | undefined;

const PUBLIC_READS = new Set(['posts', 'todos', 'notices']);

/** Who may see and change what, by the rules that the resources declare and nothing else. */
export class IsolationModel {
  private readonly records = new Map<string, ModelRecord>();
  /** The records that ever had a word. */
  private readonly owners = new Map<string, string[]>();
  private words = 0;

  nextWord(): string {
    return `w${++this.words}x`;
  }

  put(record: ModelRecord): void {
    this.records.set(record.id, record);
    this.rewrite(record, record.word);
  }

  rewrite(record: ModelRecord, word: string): void {
    record.word = word;
    this.owners.set(word, [...(this.owners.get(word) ?? []), record.id]);
  }

  remove({ id }: ModelRecord): void {
    this.records.delete(id);
  }

  get(id: string): ModelRecord | undefined {
    return this.records.get(id);
  }

  of(name: string): ModelRecord[] {
    return [...this.records.values()].filter((record) => record.name === name);
  }

  /** The status with which a resource turns a caller away, whatever the record. */
  refusal(name: string, caller: Caller, writes: boolean, archived?: Archived): 401 | 403 | undefined {
    if (name === 'todos' || (PUBLIC_READS.has(name) && !writes && !archived)) return undefined;
    if (caller.token === undefined) return 401;
    return name === 'diaries' && caller.sub === undefined ? 403 : undefined;
  }

  /** Whether a caller may read a record. */
  mayRead(record: ModelRecord, caller: Caller, archived?: Archived): boolean {
    if (archived === 'only' ? !record.isArchived : !archived && record.isArchived) return false;
    const isOpen = PUBLIC_READS.has(record.name) && !archived;
    return (isOpen || this.isOwn(record, caller)) && this.isBelowReadable(record, caller);
  }

  /** Whether a caller may change a record as it is. */
  mayWrite(record: ModelRecord, caller: Caller): boolean {
    return !record.isArchived && this.isOwn(record, caller) && this.isBelowReadable(record, caller);
  }

  isOwn(record: ModelRecord, caller: Caller): boolean {
    if (record.name === 'todos') return true;
    if (caller.tenant === undefined || record.tenant !== caller.tenant) return false;
    return record.name !== 'diaries' || (caller.sub !== undefined && record.owner === caller.sub);
  }

  /** What a caller may read of a resource, at its path. */
  readable({ name }: Surface, caller: Caller, archived: Archived, vault?: string): ModelRecord[] {
    return this.of(name).filter(
      (record) => this.mayRead(record, caller, archived) && (name !== 'cards' || record.vault === vault),
    );
  }

  /** Whether a vault is there for a caller, and so what is below it. */
  hasVault(id: string | undefined, caller: Caller): boolean {
    const vault = this.records.get(id ?? '');
    return vault?.name === 'vaults' && this.mayRead(vault, caller);
  }

  /** The status with which references of a body are refused to a caller. */
  misreference(caller: Caller, body: Readonly<Record<string, unknown>>): 400 | 403 | undefined {
    // Nobody but a person reads diaries.
    if (body.diary !== undefined && caller.sub === undefined) return 403;
    const isAllowed = Object.entries(REFERENCES).every(([field, target]) => {
      if (body[field] === undefined) return true;
      const record = this.records.get(String(body[field]));
      return record?.name === target && this.mayRead(record, caller);
    });
    return isAllowed ? undefined : 400;
  }

  /** Whether a caller may be shown a word: one of a record that it may read. */
  mayShow(word: string, caller: Caller, archived: Archived): boolean {
    return (this.owners.get(word) ?? []).some((id) => {
      const record = this.records.get(id);
      return record && (this.mayRead(record, caller, archived) || this.mayRead(record, caller));
    });
  }

  /** What is wrong with the contents of a database. */
  *differencesTo(contents: Readonly<Record<string, readonly Stored[]>>) {
    for (const { name, text, archive = '' } of SURFACES) {
      const expected = this.of(name).map(({ id, word, isArchived, tenant, owner, references, vault }) =>
        JSON.stringify([id, word, isArchived, tenant, owner, vault ?? references.vault, references.keeper]),
      );
      const actual = (contents[name] ?? []).map((found) => {
        const others = ['tenant', 'owner', 'vault', 'keeper'].map((field) => found[field]?.toString());
        return JSON.stringify([String(found._id), found[text], found[archive] !== undefined, ...others]);
      });
      for (const one of expected) if (!actual.includes(one)) yield `${name} are not stored as ${one}`;
      for (const one of actual) if (!expected.includes(one)) yield `${name} are stored as ${one}`;
    }
  }

  private isBelowReadable({ name, vault }: ModelRecord, caller: Caller): boolean {
    return name !== 'cards' || this.hasVault(vault, caller);
  }
}
