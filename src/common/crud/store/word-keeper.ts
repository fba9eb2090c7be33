import { performance } from 'node:perf_hooks';
import { Schema, type SchemaType } from 'mongoose';
import { errorMessages, toPointer, ValidationError, DatabaseTooSlowError } from '../../errors/index.js';
import { withOneList } from '../definition/indexes.js';
import { type SearchDefinition, type StoredWords, storedWords, WORDS, wordsOf } from '../search/search.js';
import { Batches, CALL_DEADLINE_MS } from '../../database/index.js';
import type { StoreChange } from './crud.store.js';

/** The schema of a model whose records carry the words of their searched fields, hidden and indexed. */
export function withWords(schema: Schema, search: SearchDefinition | undefined): Schema {
  if (!search) return schema;
  const extended = schema.clone();
  extended.add({ [WORDS]: { type: Schema.Types.Mixed, select: false } });
  for (const scope of search.scopes) {
    const equalities = Object.fromEntries(scope.map((field) => [field, 1] as const));
    const words = `${search.path}.words`;
    // Newest first is the default order of a search.
    extended.index(withOneList(schema, { ...equalities, [words]: 1, createdAt: -1, _id: -1 }, words));
  }
  return extended;
}

/**
 * Maximum number of different words that one write may index, counted by field: any post fits, since a word
 * takes two of its 100,000 characters. Unit: words.
 */
const MAX_WORDS = 60_000;

/**
 * Keeps the words of records in step with their searched fields, for every stored record and every change.
 */
export class WordKeeper {
  constructor(
    private readonly search: SearchDefinition,
    private readonly schema: Schema,
  ) {}

  /** The stored words of a record, as its hidden member. */
  ofRecord(record: object): { [WORDS]: Record<string, StoredWords[]> } {
    const { fields, path } = this.search;
    const words = fields.map((field) => storedWords(textsAt(record, field.split('.')).map(wordsOf)));
    return { [WORDS]: { [path.slice(WORDS.length + 1)]: words } };
  }

  /**
   * The stored words that a change affects, by path: those of the fields that it sets or removes.
   *
   * @param context that setters are called on
   * @throws Error if it changes a part of a list whose other parts are unknown
   */
  ofChange({ set = {}, unset = [] }: StoreChange, context: unknown): Record<string, StoredWords> {
    const { fields, path } = this.search;
    const changes = [...Object.entries(set), ...unset.map((at) => [at, undefined] as const)];
    return Object.fromEntries(
      fields.flatMap((field, i) => {
        const change = changes.find(([at]) => touches(at, field));
        if (!change) return [];
        const [at, value] = change;
        const texts = textsAt(this.cast(at, value, context), restOf(field, at));
        return [[`${path}.${i}`, storedWords(texts.map(wordsOf))]];
      }),
    );
  }

  /**
   * Length of the texts of searched fields, before setters change them. Unit: UTF-16 code units.
   *
   * @param values by their paths
   */
  lengthOf(values: object): number {
    const texts = Object.entries(values).flatMap(([at, value]) =>
      this.search.fields
        .filter((field) => isWithin(field, at))
        .flatMap((field) => textsAt(value, restOf(field, at))),
    );
    return texts.reduce((sum, text) => sum + text.length, 0);
  }

  /**
   * How many words a write has indexed.
   *
   * @param words by the positions of their fields, or by paths that end with them
   * @throws ValidationError if they are too many, since a search that did not find them would lie
   */
  count(words: Readonly<Record<string, StoredWords>> | readonly StoredWords[]): number {
    let count = 0;
    for (const [at, field] of Object.entries(words)) {
      count += field.words.length;
      if (count <= MAX_WORDS) continue;
      const [name = ''] = this.search.fields[Number(at.split('.').at(-1))]?.split('.', 1) ?? [];
      const detail = errorMessages.tooManyWords(name, MAX_WORDS);
      throw new ValidationError([{ pointer: toPointer([name]), detail }]);
    }
    return count;
  }

  /** A value as it will be stored, after the setters of its field. */
  private cast(path: string, value: unknown, context: unknown): unknown {
    const type = this.schema.path(path) as CastingType | undefined;
    try {
      return type && value !== undefined && value !== null ? type.castForQuery(null, value, context) : value;
    } catch {
      // The schema rejects it, and so the write.
      return undefined;
    }
  }
}

/** Members of Mongoose's types that their declaration lacks. */
type CastingType = SchemaType & { castForQuery(operator: null, value: unknown, context: unknown): unknown };

/** Whether a change at a path affects a searched field, directly or through an object that contains it. */
function touches(at: string, field: string): boolean {
  if (isWithin(field, at)) return true;
  const declared = at
    .split('.')
    .filter((name) => !/^\d+$/.test(name))
    .join('.');
  if (declared === at || !(isWithin(field, declared) || isWithin(declared, field))) return false;
  throw new Error(`A change sets "${at}", a part of a list that is searched. Set the whole list.`);
}

function isWithin(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`);
}

/** The part of a field's path below another one. */
function restOf(field: string, at: string): string[] {
  return field === at ? [] : field.slice(at.length + 1).split('.');
}

/** The texts at a path inside a value, walking into lists on the way. */
function textsAt(value: unknown, path: readonly string[]): string[] {
  if (Array.isArray(value)) return value.flatMap((entry) => textsAt(entry, path));
  const [head, ...tail] = path;
  if (head === undefined) return typeof value === 'string' ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  return textsAt((value as Record<string, unknown>)[head], tail);
}

/** Length of searched text from which on a write takes so long that others should not wait for it. Unit: UTF-16 code units. */
const LARGE = 4_096;

/** Duration of a write from which on it leaves time to others, and how many times its own. Unit: milliseconds. */
const LONG_MS = 20;
const TIMES_LEFT = 2;

/**
 * Writes with much text to index: one at a time, so that others overtake those that wait, which hold no words
 * meanwhile. After a long one none for twice as long, so that a client who sends many leaves the database to others.
 */
export class LargeWrites {
  private nextAt = 0;
  private waiting = 0;
  /** How long the latest one kept others from beginning. Unit: milliseconds. */
  private cycleMs = 0;
  private readonly batches = new Batches<() => Promise<unknown>, unknown>(
    ([write]) => this.leavingTime(async () => [await write?.()]),
    { max: 1 },
  );

  /**
   * Carries out a write when it is its turn: at once, if it has less text.
   *
   * @throws DatabaseTooSlowError if its turn will not come in time: at once, so that its request keeps no place
   */
  async inTurn<T>(length: number, write: () => Promise<T>): Promise<T> {
    if (length < LARGE) return write();
    if (this.waiting * this.cycleMs > CALL_DEADLINE_MS) throw new DatabaseTooSlowError();
    const since = performance.now();
    this.waiting += 1;
    try {
      const result = await this.batches.add(() => {
        // Its caller has been told so already.
        if (performance.now() - since > CALL_DEADLINE_MS) throw new DatabaseTooSlowError();
        return write();
      });
      return result as T;
    } finally {
      this.waiting -= 1;
    }
  }

  private async leavingTime<T>(write: () => Promise<T>): Promise<T> {
    const wait = this.nextAt - performance.now();
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
    const begun = performance.now();
    try {
      return await write();
    } finally {
      const now = performance.now();
      const took = now - begun;
      const left = took > LONG_MS ? TIMES_LEFT * took : 0;
      this.nextAt = now + left;
      this.cycleMs = took + left;
    }
  }
}
