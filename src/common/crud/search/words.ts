import { type StoreChange, WORDS } from '../schema/store-types.js';
import type { Schema, SchemaType } from 'mongoose';
import { createHash } from 'node:crypto';
import { errorMessages, toPointer, ValidationError } from '../../errors/index.js';
import { isWithin } from '../schema/schema-paths.js';

/** Increased when words are made or stored differently, so that the words of every record are made again. */
const FORMAT = 1;

/** The fields that `q` searches. */
export interface SearchDefinition {
  /** Paths of the fields that are searched. */
  readonly fields: readonly string[];
  /** Path of the stored words, a list with an entry for each field. It is another one for another declaration. */
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

/** A search term: a word, or several words next to each other within one value. */
export type SearchTerm = readonly string[];

/** Letters, digits and the marks that belong to them. Invisible characters do not separate words. */
const RUN = /[\p{L}\p{N}\p{M}\p{Default_Ignorable_Code_Point}]+/gu;

/** A word after folding. */
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;

/** Accents, points of Hebrew and Arabic, invisible characters; not marks that make another letter, such as か and が. */
const ACCENTS =
  /(?![\u3099\u309A])(?:\p{Default_Ignorable_Code_Point}|(?=\p{M})[\p{Script=Inherited}\p{Script=Hebrew}])/gu;

/** Letters with a stroke, and ligatures, which Unicode does not decompose. */
const STROKED: Record<string, string> = { Æ: 'AE', Œ: 'OE', Ø: 'O', Đ: 'D', Ħ: 'H', Ł: 'L', Ŧ: 'T' };

/** An invisible space that does separate words. */
const ZERO_WIDTH_SPACE = '\u200B';

/** Texts with only these characters are folded by case only, which is several times faster. */
// eslint-disable-next-line no-control-regex
const ASCII = /^[\x00-\x7f]*$/;

/** The words of a text in order: runs of letters and digits, the same for any case and accents. */
export function wordsOf(text: string): string[] {
  if (ASCII.test(text)) return text.toUpperCase().match(/[A-Z0-9]+/g) ?? [];
  const runs = text.replaceAll(ZERO_WIDTH_SPACE, ' ').match(RUN) ?? [];
  // All at once, since folding has a price of its own. A single character, such as U+FDFA, may be several words.
  return fold(runs.join(' ')).match(WORD) ?? [];
}

/** Lower case first: ẞ has no upper case, and that of ß is SS. Then upper case, since σ and ς share it. */
function fold(runs: string): string {
  return withoutAccents(withoutAccents(runs).toLowerCase().toUpperCase()).replace(
    /[ÆŒØĐĦŁŦ]/g,
    (letter) => STROKED[letter] ?? letter,
  );
}

function withoutAccents(text: string): string {
  return text.normalize('NFKD').replace(ACCENTS, '');
}

/** The stored words of one field of a record. */
export interface StoredWords {
  /** The distinct words, for the index. */
  readonly words: readonly string[];
  /** Each value that a phrase may occur in: its words in order, separated by spaces. */
  readonly texts: readonly string[];
}

/** The index holds the beginning of a longer word, the text all of it. Unit: UTF-16 code units. */
const MAX_KEY_LENGTH = 64;

/** Makes the stored words of the values of one field. */
function storedWords(values: readonly SearchTerm[]): StoredWords {
  return { words: [...new Set(values.flat().map(keyOf))], texts: values.filter(needsText).map(textOf) };
}

/** The word as the index holds it. */
export function keyOf(word: string): string {
  // Half of a surrogate pair is not a character.
  return word.length <= MAX_KEY_LENGTH ? word : word.slice(0, MAX_KEY_LENGTH).replace(/[\ud800-\udbff]$/, '');
}

/** Whether the index is not enough to tell if a term occurs. */
export function needsText(term: SearchTerm): boolean {
  return term.length > 1 || term.some((word) => keyOf(word) !== word);
}

/** Words with spaces around them, so that one text is part of another only as whole words. */
export function textOf(words: SearchTerm): string {
  return ` ${words.join(' ')} `;
}

/** Maximum number of different words that one write may index, counted by field: any post fits. Unit: words. */
const MAX_WORDS = 60_000;

/** Makes the words of a resource's records from their searched fields, for every stored record and every change. */
export class RecordWords {
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

  /** Length of the searched texts among values by their paths, before setters change them. Unit: UTF-16 code units. */
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
