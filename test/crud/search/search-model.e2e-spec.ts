/** @mongodb */
import { Random } from '../../support/random.js';
import { recipes } from '../../support/recipes.js';
import { useResourceApp } from '../../support/resource-app.js';
import {
  matches,
  type ModelQuery,
  type ModelRecord,
  randomQuery,
  randomWords,
  spell,
  write,
} from '../../support/search-model.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';

const token = await tokenOf(ACME);

const SEED = Number(process.env.SEARCH_SEED ?? 20_261_121);

/** The words of each searched field, in the order of the option. */
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
    for (let i = 0; i < 60; i++) {
      const words = randomRecord();
      const author = random.pick(['Ada', 'Bo']);
      const { status, body } = await app.post('/recipes', { ...bodyOf(words), author }, { token });
      expect(status).toBe(201);
      models.push({ id: body._id, author, words });
    }
    const other = await tokenOf(GLOBEX);
    for (let i = 0; i < 20; i++) await app.post('/recipes', bodyOf(randomRecord()), { token: other });
  });

  function randomRecord(): ModelRecord {
    const value = () => randomWords(random);
    return [
      [value()],
      random.list(0, 1, value),
      random.list(0, 3, value),
      random.list(0, 1, value),
      random.list(0, 3, value),
    ];
  }

  function bodyOf([name = [], notes = [], labels = [], label = [], steps = []]: ModelRecord): object {
    const text = (words: readonly number[]) => spell(random, words);
    return {
      name: text(name[0] ?? []),
      ...(notes[0] && { notes: text(notes[0]) }),
      labels: labels.map(text),
      box: { place: 'tea creme a b', ...(label[0] && { label: text(label[0]) }) },
      steps: steps.map((step) => ({ text: text(step) })),
    };
  }

  /** Changes one record as a merge patch does: some fields, each set or removed. */
  async function change(model: Model): Promise<void> {
    const words = randomRecord();
    const all = bodyOf(words) as { notes?: string; box: { label?: string } };
    const field = random.pick(['name', 'notes', 'labels', 'box', 'steps'] as const);
    const at = ['name', 'notes', 'labels', 'box', 'steps'].indexOf(field);
    const patch =
      field === 'notes'
        ? { notes: all.notes ?? null }
        : field === 'box'
          ? { box: { label: all.box.label ?? null } }
          : { [field]: (all as Record<string, unknown>)[field] };
    const { status } = await app.patch(`/recipes/${model.id}`, patch, { token });
    expect(status).toBe(200);
    model.words = model.words.map((values, i) => (i === at ? (words[at] ?? []) : values));
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
    const results = body.results?.map(({ _id }: { _id: string }) => _id);
    const page = expected.slice(offset, offset + 5);
    expect({ q, results, count: body.count }).toEqual({ q, results: page, count: expected.length });
    return expected.length;
  }

  it('over a thousand queries, between changes', async () => {
    const found: number[] = [];
    for (let round = 0; round < 120; round++) {
      await change(random.pick(models));
      const records = models.map(({ words }) => words);
      found.push(...(await Promise.all(Array.from({ length: 10 }, () => ask(randomQuery(random, records))))));
    }
    // Queries that find nothing would agree with any model.
    expect(found.filter((count) => count > 0).length).toBeGreaterThan(600);
  }, 120_000);
});
