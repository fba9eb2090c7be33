import type { Random } from './random.js';

/**
 * Words, each in spellings that differ in case, accents and normal form alone. The model knows a word by its place in this
 * list and never looks at the letters.
 */
const SPELLINGS: readonly (readonly string[])[] = [
  ['tea', 'Tea', 'TEA', 't\u00e9a', 'te\u0301a'],
  ['teas', 'TEAS'],
  ['creme', 'Cr\u00e8me', 'CRE\u0300ME'],
  ['strasse', 'Stra\u00dfe', 'STRASSE', 'STRA\u1e9eE'],
  ['istanbul', '\u0130stanbul', '\u0131stanbul'],
  ['\u03bf\u03b4\u03bf\u03c3', '\u039f\u0394\u039f\u03a3', '\u03cc\u03b4\u03bf\u03c2'],
  ['fine', '\ufb01ne', 'FINE'],
  ['aero', '\u00c6ro'],
  ['lodz', '\u0141\u00f3d\u017a'],
  ['a', 'A', '\u00e4'],
  ['b', 'B'],
  ['7', '\uff17'],
  ['h2o', 'H\u2082O', 'H\u00b2O'],
  ['paperback', 'paper\u00adback'],
  ['\u05e9\u05dc\u05d5\u05dd', '\u05e9\u05c1\u05b8\u05dc\u05d5\u05b9\u05dd'],
  ['\u043c\u0438\u0440', '\u041c\u0418\u0420'],
  ['\ud55c\uae00', '\ud55c\uae00'.normalize('NFD')],
  // Other digits, a voiced kana, vowel signs and a longer run of CJK make other words.
  ...[['34'], ['\u0663\u0664'], ['\u304b\u304d'], ['\u304b\u304e'], ['\u0939\u093f\u0928']],
  ...[['\u0939\u093f\u0928\u094d\u0926\u0940'], ['\u6771\u4eac'], ['\u6771\u4eac\u90fd']],
];

/** Parts words, in texts as in queries. */
const SEPARATORS = [
  ...[' ', '  ', ', ', '-', "'", '\u2019', '_', '/', ' \u{1f600} ', '\u{1f375}', '.', '\u2122', '\t', ' ('],
  ...['*', '$', '\\'],
];

/** Words of one value, by their places in the list of spellings. */
type Words = readonly number[];

/** A record: the values of each searched field. */
export type ModelRecord = readonly (readonly Words[])[];

interface Term {
  readonly words: Words;
  readonly excluded: boolean;
}

export type ModelQuery = readonly Term[];

const randomWord = (random: Random) => random.below(SPELLINGS.length);
export const randomWords = (random: Random): Words => random.list(0, 6, () => randomWord(random));

/** A text that has the words, in any spelling, with anything between them. */
export function spell(random: Random, words: Words): string {
  const spelt = words.map((word) => random.pick(SPELLINGS[word] ?? []));
  return spelt.join('\0').replaceAll('\0', () => random.pick(SEPARATORS));
}

/** A query that has something to find; most of its phrases are taken from a record. */
export function randomQuery(random: Random, records: readonly ModelRecord[]): ModelQuery {
  const terms = random.list(1, 3, (): Term => {
    const source = (random.chance(0.8) && random.pick(random.pick(records).flat())) || randomWords(random);
    const start = random.below(source.length);
    const words = source.slice(start, start + random.pick([1, 1, 2, 3]));
    return { words: words.length > 0 ? words : [randomWord(random)], excluded: random.chance(0.3) };
  });
  const isFinding = terms.some(({ excluded }) => !excluded);
  return isFinding ? terms : [...terms, { words: [randomWord(random)], excluded: false }];
}

/** The parameter that a client would write. */
export function write(random: Random, query: ModelQuery): string {
  return query
    .map(({ words, excluded }) => {
      const isBare = words.length === 1 && random.chance(0.7);
      return `${excluded ? '-' : ''}${isBare ? spell(random, words) : `"${spell(random, words)}"`}`;
    })
    .join(random.pick([' ', '  ', '\t']));
}

/** Whether a record satisfies a query: every term occurs in one value, and none that is excluded. */
export function matches(record: ModelRecord, query: ModelQuery): boolean {
  const occurs = (words: Words) => record.flat().some((value) => hasRun(value, words));
  return query.every(({ words, excluded }) => occurs(words) !== excluded);
}

function hasRun(value: Words, words: Words): boolean {
  return value.some((_, start) => words.every((word, i) => value[start + i] === word));
}
