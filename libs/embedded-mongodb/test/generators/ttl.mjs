/**
 * Gives collections TTL indexes of every kind, alone and beside others on the same field, and checks that what has expired goes and
 * everything else stays, also after documents have been changed.
 *
 *   npm run check:ttl -w libs/embedded-mongodb -- --seed 1 --size 50
 *
 * `--size` is the number of collections. Where `REFERENCE_MONGODB_URI` names a real MongoDB, the same happens to it as well; it should
 * run with `--setParameter ttlMonitorSleepSecs=1`.
 */
import { Random } from '../differential/random.mjs';
import { prune } from './items.mjs';
import { connect, main, outcome, referenceUri, startEmbedded } from './support.mjs';

const collectionsPerRound = 50;
const day = 86_400_000;
const now = Date.now();

async function generate(run) {
  const server = await startEmbedded({ memory: true, ttlIntervalMs: 20 });
  const sides = { embedded: await connect(server.uri, 'generated_ttl') };
  if (referenceUri()) sides.reference = await connect(referenceUri(), 'generated_ttl');
  const tally = { collections: 0, expired: 0, documents: 0 };
  for (let round = 0; tally.collections < run.size; round++) {
    const count = Math.min(collectionsPerRound, run.size - tally.collections);
    for (const [name, { db }] of Object.entries(sides)) {
      const random = new Random(run.seed * 1_000_003 + round * 7919);
      const tables = Array.from({ length: count }, (_, n) => new Table(run, random, db, name, `items${n}`));
      for (const table of tables) await table.fill();
      await swept(db);
      for (const table of tables) await table.check('after the first sweep', tally);
      for (const table of tables) await table.change();
      await swept(db);
      for (const table of tables) await table.check('after a change', tally);
      await db.dropDatabase();
    }
    tally.collections += count;
  }
  for (const side of Object.values(sides)) await side.close();
  await server.stop();
  return `${tally.collections} collections (${tally.expired} of ${tally.documents} documents expired) on ${Object.keys(sides).length} servers`;
}

/** Resolves when every TTL index has had its turn: a sweep may be under way now, but the second one from here begins later. */
async function swept(db) {
  const sentinel = db.collection('sentinel');
  await sentinel.createIndex({ at: 1 }, { expireAfterSeconds: 0 });
  for (let sweep = 0; sweep < 3; sweep++) {
    await sentinel.insertOne({ at: new Date(0) });
    while ((await sentinel.countDocuments()) > 0);
  }
}

/** A collection with its indexes. */
class Table {
  constructor(run, random, db, name, collection) {
    Object.assign(this, { run, random, name, items: db.collection(collection) });
    this.documents = new Map();
    this.indexes = [];
  }

  async fill() {
    const { random, items } = this;
    for (let id = 0; id < 20; id++) this.documents.set(id, makeDocument(random, id));
    await items.insertMany([...this.documents.values()]);
    // Several on one field, with the ordinary ones before or behind those with a time.
    for (const made of random.list(1, 5, () => makeIndex(random))) {
      const { code } = await outcome(items.createIndex(made.key, made.options));
      if (code === undefined) this.indexes.push(made);
    }
    this.#expire();
  }

  /** Changes documents that are left, so that some now belong into an index with a time. */
  async change() {
    const { random, items } = this;
    for (const [id, before] of this.documents) {
      if (!random.chance(0.3)) continue;
      const after = { ...makeDocument(random, id), u: before.u };
      const { code } = await outcome(items.replaceOne({ _id: id }, after, { upsert: true }));
      if (code === undefined) this.documents.set(id, after);
    }
    this.#expire();
  }

  async check(when, tally) {
    const left = (await this.items.find().hint({ $natural: 1 }).toArray()).map(({ _id }) => _id);
    const expected = [...this.documents.keys()];
    const gone = expected.filter((id) => !left.includes(id));
    const kept = left.filter((id) => !expected.includes(id));
    tally.documents += expected.length;
    for (const [what, ids] of Object.entries({
      'removed and should be there': gone,
      'there and should be removed': kept,
    })) {
      if (ids.length === 0) continue;
      const shown = ids.map((id) => this.documents.get(id) ?? this.expired.get(id));
      this.run.report(`${this.name}: ${what}, ${when}`, {
        indexes: JSON.stringify(this.indexes),
        documents: JSON.stringify(shown),
      });
    }
    tally.expired += this.expired.size;
  }

  /** Removes what a sweep will remove. */
  #expire() {
    this.expired = new Map();
    for (const [id, document] of this.documents) {
      if (!this.indexes.some((index) => hasExpired(index, document))) continue;
      this.expired.set(id, document);
      this.documents.delete(id);
    }
  }
}

function hasExpired({ path, options: { expireAfterSeconds }, holds }, document) {
  if (expireAfterSeconds === undefined || !holds(document)) return false;
  const dates = valuesAt(document, path.split('.')).filter((each) => each instanceof Date);
  return dates.some((date) => date.getTime() <= now - expireAfterSeconds * 1_000);
}

/** The values that an index over a path has. */
function valuesAt(value, [name, ...rest]) {
  if (name === undefined) return [value].flat();
  if (Array.isArray(value)) return value.flatMap((each) => valuesAt(each, [name, ...rest]));
  return value !== null && typeof value === 'object' && !(value instanceof Date)
    ? valuesAt(value[name], rest)
    : [];
}

const anything = () => true;
const filters = [
  { partialFilterExpression: { s: 'done' }, holds: ({ s }) => s === 'done' },
  { partialFilterExpression: { s: { $exists: true } }, holds: ({ s }) => s !== undefined },
  { partialFilterExpression: { n: { $gt: 2 } }, holds: ({ n }) => n > 2 },
  { partialFilterExpression: { s: 'done', n: { $lte: 3 } }, holds: ({ s, n }) => s === 'done' && n <= 3 },
  {
    partialFilterExpression: { $and: [{ s: 'done' }, { at: { $type: 'date' } }] },
    holds: ({ s, at }) => s === 'done' && [at].flat().some((each) => each instanceof Date),
  },
  {
    partialFilterExpression: { at: { $lt: new Date(now - 30 * day) } },
    holds: ({ at }) => [at].flat().some((each) => each instanceof Date && each.getTime() < now - 30 * day),
  },
];

function makeIndex(random) {
  const path = random.pick(['at', 'at', 'at', 'm.at']);
  const direction = random.pick([1, -1]);
  if (random.chance(0.2)) {
    const key = random.pick([
      { [path]: direction, n: 1 },
      { s: 1, [path]: direction },
    ]);
    return { path, key, options: {}, holds: anything };
  }
  const expireAfterSeconds = random.chance(0.7) ? random.pick([0, 10, 7 * 86_400, 2 ** 31 - 1]) : undefined;
  const kind = random.weighted([
    [2, () => ({ options: {}, holds: anything })],
    [1, () => ({ options: { sparse: true }, holds: anything })],
    [1, () => ({ options: { unique: true }, holds: anything })],
    [4, () => withFilter(random.pick(filters))],
  ]);
  const options = prune({ ...kind.options, expireAfterSeconds, name: `index ${random.below(1e9)}` });
  return { path, key: { [path]: direction }, options, holds: kind.holds };
}

function withFilter({ partialFilterExpression, holds }) {
  return { options: { partialFilterExpression }, holds };
}

function makeDocument(random, id) {
  const date = () => new Date(now + random.pick([-60, -20, -1, 1, 30]) * day + random.below(100_000));
  const value = () =>
    random.weighted([
      [6, date],
      [2, () => random.list(0, 3, () => random.pick([date(), 5, null]))],
      [1, () => random.pick([null, 0, '2020-01-01', true, -1e15, { at: date() }])],
      [1, () => undefined],
    ]);
  const m = random.pick([undefined, { at: value() }, [{ at: value() }, { at: value() }], [value()], 5]);
  return prune({
    _id: id,
    at: value(),
    m,
    s: random.pick(['done', 'open', undefined]),
    n: random.below(6),
    u: id,
  });
}

await main(50, generate);
