/** @mongodb */
import { Random } from '../../support/random.js';
import { each } from '../../support/records.js';
import { recipes } from '../../support/recipes.js';
import { useResourceApp } from '../../support/resource-app.js';
import { acme as token, globex } from '../../support/tenants.js';

const SEED = Number(process.env.SEARCH_SEED ?? 20_261_121);
/** Changes, and ten queries after each. */
const ROUNDS = Number(process.env.SEARCH_ROUNDS ?? 20);
const FIELDS = ['name', 'notes', 'labels', 'box', 'steps'] as const;

/** Words in spellings that differ in case, accents and normal form alone; the model knows their places, not their letters. */
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

/** A record: the values of each searched field, in the order of the option. */
type ModelRecord = readonly (readonly Words[])[];
type Term = { words: Words; excluded: boolean };

const randomWord = (random: Random) => random.below(SPELLINGS.length);
const randomWords = (random: Random): Words => random.list(0, 6, () => randomWord(random));

/** A text that has the words, in any spelling, with anything between them. */
function spell(random: Random, words: Words): string {
  const spelt = words.map((word) => random.pick(SPELLINGS[word] ?? []));
  return spelt.join('\0').replaceAll('\0', () => random.pick(SEPARATORS));
}

/** A query that has something to find; most of its phrases are taken from a record. */
function randomQuery(random: Random, records: readonly ModelRecord[]): Term[] {
  const terms = random.list(1, 3, (): Term => {
    const source = (random.chance(0.8) && random.pick(random.pick(records).flat())) || randomWords(random);
    const start = random.below(source.length);
    const words = source.slice(start, start + random.pick([1, 1, 2, 3]));
    return { words: words.length > 0 ? words : [randomWord(random)], excluded: random.chance(0.3) };
  });
  if (terms.every(({ excluded }) => excluded)) terms.push({ words: [randomWord(random)], excluded: false });
  return terms;
}

/** The parameter that a client would write. */
function write(random: Random, query: Term[]): string {
  const terms = query.map(({ words, excluded }) => {
    const quote = words.length === 1 && random.chance(0.7) ? '' : '"';
    return (excluded ? '-' : '') + quote + spell(random, words) + quote;
  });
  return terms.join(random.pick([' ', '  ', '\t']));
}

/** Whether a record satisfies a query: every term occurs in one value, and none that is excluded. */
function matches(record: ModelRecord, query: Term[]): boolean {
  const hasRun = (value: Words, words: Words) =>
    value.some((_, start) => words.every((word, i) => value[start + i] === word));
  const occurs = (words: Words) => record.flat().some((value) => hasRun(value, words));
  return query.every(({ words, excluded }) => occurs(words) !== excluded);
}

describe(`searches agree with a model of their rules (seed ${SEED})`, () => {
  const random = new Random(SEED);
  const models: { id: string; author: string; words: ModelRecord }[] = [];

  const app = useResourceApp(recipes());
  beforeAll(async () => {
    for (let i = 0; i < 60; i++) await create();
    for (let i = 0; i < 20; i++) await app.create('/recipes', bodyOf(randomRecord()), globex);
  });

  async function create(): Promise<void> {
    const [words, author] = [randomRecord(), random.pick(['Ada', 'Bo'])];
    const id = await app.create('/recipes', { ...bodyOf(words), author }, token);
    models.push({ id, author, words });
  }

  function randomRecord(): ModelRecord {
    const upTo = (max: number) => random.list(0, max, () => randomWords(random));
    return [[randomWords(random)], upTo(1), upTo(3), upTo(1), upTo(3)];
  }

  function bodyOf([name = [], notes = [], labels = [], label = [], steps = []]: ModelRecord) {
    const text = (words: readonly number[] = []) => spell(random, words);
    return {
      name: text(name[0]),
      ...(notes[0] && { notes: text(notes[0]) }),
      labels: labels.map(text),
      box: { place: 'tea creme a b', ...(label[0] && { label: text(label[0]) }) },
      steps: steps.map((step) => ({ text: text(step) })),
    };
  }

  /** Changes one record as a merge patch does, some fields, each set or removed, or puts another in its place. */
  async function change(): Promise<void> {
    const [model, at] = [random.pick(models), random.below(FIELDS.length + 1)];
    const [words, path] = [randomRecord(), `/recipes/${model.id}`];
    const { notes = null, box, ...others } = bodyOf(words);
    const label = box.label ?? null;
    const all = { ...others, notes, box: label === null && random.chance(0.5) ? null : { label } };
    const field = FIELDS[at];
    const changed = field ? app.patch(path, { [field]: all[field] }, { token }) : app.del(path, { token });
    expect((await changed).status).toBe(200);
    model.words = model.words.map((values, i) => (i === at ? (words[at] ?? []) : values));
    if (field) return;
    models.splice(models.indexOf(model), 1);
    await create();
  }

  async function ask(query: Term[]): Promise<number> {
    const q = write(random, query);
    const author = random.pick(['', '', '&author=Ada']);
    const isOf = (model: (typeof models)[number]) => !author || model.author === 'Ada';
    const found = models.filter((model) => isOf(model) && matches(model.words, query));
    const ids = each(found, 'id').reverse();
    const offset = random.below(3);
    const parameters = `q=${encodeURIComponent(q)}${author}&offset=${offset}&limit=5`;
    const { body } = await app.get(`/recipes?${parameters}`, { token });
    const shown = { q, results: each(body.results, '_id'), count: body.count };
    expect(shown).toEqual({ q, results: ids.slice(offset, offset + 5), count: ids.length });
    return ids.length;
  }

  it('over many queries, between changes', async () => {
    const found: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      await change();
      const records = models.map(({ words }) => words);
      found.push(...(await Promise.all(Array.from({ length: 10 }, () => ask(randomQuery(random, records))))));
    }
    // Queries that find nothing would agree with any model.
    expect(found.filter((count) => count > 0).length).toBeGreaterThan(ROUNDS * 5);
  }, 120_000);
});
