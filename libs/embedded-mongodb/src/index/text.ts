import { Int32 } from 'bson';
import { toDouble } from '../bson/numbers.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber } from '../bson/types.js';
import { failure, unsupported } from '../errors.js';

/** What a text index covers. */
export interface TextOptions {
  /** Paths of the texts and how much a word in each counts. */
  weights: Map<string, number>;
  /** Fields before the texts, each of which a search must give by equality. */
  prefix: string[];
}

/** A `$text` search, taken apart. */
export interface TextTerms {
  /** At least one of these words must occur. */
  words: string[];
  /** None of these may. */
  excludedWords: string[];
  /** Each of these must occur in one of the texts. */
  phrases: string[];
  /** None of these may. */
  excludedPhrases: string[];
}

/**
 * The text part of a key pattern.
 *
 * @returns `undefined` when the pattern has none.
 */
export function textOptions(key: BsonDocument, spec: BsonDocument): TextOptions | undefined {
  const paths = [...key].filter(([, kind]) => kind === 'text').map(([path]) => path);
  if (paths.length === 0) return undefined;
  if (paths.includes('$**')) throw unsupported('A wildcard text index');
  const names = [...key.keys()];
  const weights = new Map(paths.map((path) => [path, 1]));
  const given = spec.get('weights');
  if (given !== undefined && !isDocument(given))
    throw failure('CannotCreateIndex', 'text index weights must be an object');
  for (const [path, weight] of given ?? []) {
    if (!isNumber(weight)) throw failure('CannotCreateIndex', 'weight for text index needs numeric type');
    const number = toDouble(weight);
    if (!(number > 0 && number < 1e9)) {
      throw failure(
        'CannotCreateIndex',
        'text index weight must be in the exclusive interval (0,1000000000)',
      );
    }
    weights.set(path, number);
  }
  return { weights, prefix: names.slice(0, names.indexOf(paths[0] as string)) };
}

/** A text index's description as listIndexes shows it: `_fts` and `_ftsx` stand for the texts. */
export function normalizeText(spec: BsonDocument, { weights }: TextOptions): BsonDocument {
  const key: BsonDocument = new Map();
  for (const [path, kind] of spec.get('key') as BsonDocument) {
    if (kind !== 'text') key.set(path, kind);
    else key.set('_fts', 'text').set('_ftsx', new Int32(1));
  }
  const sorted = [...weights].sort(([a], [b]) => (a < b ? -1 : 1));
  const passed = ['v', 'key', 'name', 'weights', 'default_language', 'language_override', 'textIndexVersion'];
  return new Map<string, BsonValue>([
    ['v', spec.get('v') ?? new Int32(2)],
    ['key', key],
    ['name', spec.get('name') as BsonValue],
    ...[...spec].filter(([option]) => !passed.includes(option)),
    ['weights', new Map(sorted.map(([path, weight]) => [path, new Int32(weight)]))],
    ['default_language', spec.get('default_language') ?? 'english'],
    ['language_override', spec.get('language_override') ?? 'language'],
    ['textIndexVersion', new Int32(3)],
  ]);
}

/** The words of a text: runs of letters, digits and `_`, without case and accents. There are no stems and no stop words. */
export function tokenize(text: string): string[] {
  return fold(text).match(/[\p{L}\p{N}_]+/gu) ?? [];
}

/**
 * Takes a `$search` apart: `-word` excludes, `"a phrase"` must occur as it stands.
 *
 * @see https://www.mongodb.com/docs/manual/reference/operator/query/text/
 */
export function parseSearch(search: string): TextTerms {
  const terms: TextTerms = { words: [], excludedWords: [], phrases: [], excludedPhrases: [] };
  for (const [, minus, phrase, word] of search.matchAll(/(?<![^\s"])(-)?"([^"]*)"?|(\S[^\s"]*)/g)) {
    const excluded = minus !== undefined || (word?.startsWith('-') ?? false);
    if (phrase !== undefined) (excluded ? terms.excludedPhrases : terms.phrases).push(fold(phrase));
    if (!excluded) terms.words.push(...tokenize(phrase ?? word ?? ''));
    else if (word !== undefined) terms.excludedWords.push(...tokenize(word));
  }
  terms.words = [...new Set(terms.words)];
  return terms;
}

/** The distinct words of a document under an index. */
export function documentWords(document: BsonDocument, { weights }: TextOptions): Set<string> {
  return new Set([...weights.keys()].flatMap((path) => texts(document, path).flatMap(tokenize)));
}

/**
 * How well a document answers a search, by MongoDB's formula.
 *
 * @returns `undefined` when it does not match.
 */
export function textScore(
  document: BsonDocument,
  terms: TextTerms,
  { weights }: TextOptions,
): number | undefined {
  const scores = new Map<string, number>();
  const folded: string[] = [];
  for (const [path, weight] of weights) {
    for (const text of texts(document, path)) {
      folded.push(fold(text));
      addScores(scores, text, weight);
    }
  }
  if (!terms.words.some((word) => scores.has(word))) return undefined;
  if (terms.excludedWords.some((word) => scores.has(word))) return undefined;
  const occurs = (phrase: string): boolean => folded.some((text) => text.includes(phrase));
  if (!terms.phrases.every(occurs) || terms.excludedPhrases.some(occurs)) return undefined;
  return terms.words.reduce((sum, word) => sum + (scores.get(word) ?? 0), 0);
}

/** A repeated word counts half as much each time; one that fills much of its text counts more. */
function addScores(scores: Map<string, number>, text: string, weight: number): void {
  const words = tokenize(text);
  const found = new Map<string, { count: number; frequency: number; exponent: number }>();
  for (const word of words) {
    const entry = found.get(word) ?? { count: 0, frequency: 0, exponent: 0.5 };
    entry.exponent *= 2;
    entry.count++;
    entry.frequency += 1 / entry.exponent;
    found.set(word, entry);
  }
  for (const [word, { count, frequency }] of found) {
    const share = (0.5 * count) / words.length + 0.5;
    const whole = text.toLowerCase() === word ? 1.1 : 1;
    scores.set(word, (scores.get(word) ?? 0) + weight * frequency * share * whole);
  }
}

function texts(value: BsonValue | undefined, path: string): string[] {
  if (Array.isArray(value))
    return value.flatMap((element) => (Array.isArray(element) ? [] : texts(element, path)));
  if (path === '') return typeof value === 'string' ? [value] : [];
  if (!isDocument(value)) return [];
  const dot = path.indexOf('.');
  return dot < 0 ? texts(value.get(path), '') : texts(value.get(path.slice(0, dot)), path.slice(dot + 1));
}

function fold(text: string): string {
  return text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();
}
