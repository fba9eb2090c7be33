/** @mongodb */
import { Random } from '../../support/random.js';
import { created, each } from '../../support/records.js';
import { recipes } from '../../support/recipes.js';
import { useResourceApp } from '../../support/resource-app.js';
import type { ModelQuery, ModelRecord } from '../../support/search-model.js';
import { matches, randomQuery, randomWords, spell, write } from '../../support/search-model.js';
import { acme as token, globex } from '../../support/tenants.js';

const SEED = Number(process.env.SEARCH_SEED ?? 20_261_121);
const FIELDS = ['name', 'notes', 'labels', 'box', 'steps'] as const;

/** A record, with the words of each searched field in the order of the option. */
interface Model {
  readonly id: string;
  readonly author: string;
  words: ModelRecord;
}

describe(`searches agree with a model of their rules (seed ${SEED})`, () => {
  const random = new Random(SEED);
  const models: Model[] = [];

  const app = useResourceApp(recipes());
  beforeAll(async () => {
    for (let i = 0; i < 60; i++) await create();
    for (let i = 0; i < 20; i++) await created(app, '/recipes', bodyOf(randomRecord()), globex);
  });

  async function create(): Promise<void> {
    const [words, author] = [randomRecord(), random.pick(['Ada', 'Bo'])];
    const id = await created(app, '/recipes', { ...bodyOf(words), author }, token);
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
    const { status } = field
      ? await app.patch(path, { [field]: all[field] }, { token })
      : await app.del(path, { token });
    expect(status).toBe(200);
    model.words = model.words.map((values, i) => (i === at ? (words[at] ?? []) : values));
    if (field) return;
    models.splice(models.indexOf(model), 1);
    await create();
  }

  async function ask(query: ModelQuery): Promise<number> {
    const q = write(random, query);
    const author = random.pick([undefined, undefined, 'Ada']);
    const expected = models
      .filter((model) => matches(model.words, query) && (author ?? model.author) === model.author)
      .map(({ id }) => id)
      .reverse();
    const parameters = `q=${encodeURIComponent(q)}${author ? `&author=${author}` : ''}`;
    const offset = random.below(3);
    const { body } = await app.get(`/recipes?${parameters}&offset=${offset}&limit=5`, { token });
    const page = expected.slice(offset, offset + 5);
    const found = { q, results: each(body.results, '_id'), count: body.count };
    expect(found).toEqual({ q, results: page, count: expected.length });
    return expected.length;
  }

  it('over a thousand queries, between changes', async () => {
    const found: number[] = [];
    for (let round = 0; round < 120; round++) {
      await change();
      const records = models.map(({ words }) => words);
      found.push(...(await Promise.all(Array.from({ length: 10 }, () => ask(randomQuery(random, records))))));
    }
    // Queries that find nothing would agree with any model.
    expect(found.filter((count) => count > 0).length).toBeGreaterThan(600);
  }, 120_000);
});
