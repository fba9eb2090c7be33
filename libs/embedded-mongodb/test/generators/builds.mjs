/**
 * Builds indexes, most of them unique, while several connections write, and checks what came of it: a build fails if a duplicate is
 * there when it ends, succeeds if there never was one, and an index that was built holds every document and lets no duplicate in.
 *
 *   npm run check:builds -w libs/embedded-mongodb -- --seed 1 --size 15
 *
 * `--size` is the number of builds. Where `REFERENCE_MONGODB_URI` names a real MongoDB, the same happens to it as well.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { storedDisagreements } from '../crash/verify.mjs';
import { Random } from '../differential/random.mjs';
import { prune } from './items.mjs';
import { connect, main, outcome, referenceUri, startEmbedded, useClassicEngine } from './support.mjs';

const writers = 4;
const buildsPerFolder = 10;
const duplicate = 11_000;
const parallelArrays = 171;

/** Indexes, and whether a document is in them. */
const kinds = [
  { key: { k: 1 }, unique: true },
  { key: { k: -1 }, unique: true, sparse: true },
  { key: { k: 1, t: -1 }, unique: true },
  { key: { k: 1 }, unique: true, partialFilterExpression: { t: { $gt: 1 } } },
  { key: { k: 1, l: 1 } },
  { key: { k: 1 } },
];

async function generate(run) {
  const tally = { builds: 0, built: 0, statements: 0 };
  const reference = referenceUri() && (await connect(referenceUri(), 'generated_builds', { maxPoolSize: 8 }));
  if (reference) await useClassicEngine(reference);
  while (tally.builds < run.size) {
    const dir = mkdtempSync(join(tmpdir(), 'builds-'));
    const server = await startEmbedded({ dir });
    const embedded = await connect(server.uri, 'generated_builds', { maxPoolSize: 8 });
    for (let n = 0; n < buildsPerFolder && tally.builds < run.size; n++, tally.builds++) {
      for (const [name, side] of Object.entries(prune({ embedded, reference }))) {
        const random = new Random(run.seed * 1_000_003 + tally.builds * 7919);
        await new Build(run, random, side, name, tally, `items${n}`).go();
      }
    }
    await embedded.close();
    await server.stop();
    for (const sentence of await storedDisagreements(join(dir, 'lmdb')))
      run.report(`In the files: ${sentence}`);
    rmSync(dir, { recursive: true, force: true });
  }
  await reference?.close();
  return `${tally.builds} builds (${tally.built} succeeded, ${tally.statements} statements meanwhile) on ${reference ? 2 : 1} servers`;
}

/** One index, built over one collection. */
class Build {
  /** When what happened: every request and every reply is one moment. */
  #clock = 0;
  /** Per `_id` the versions of its document, each with the moments of the requests and replies that began and ended it. */
  #versions = new Map();
  #writing = true;
  #nextKey = 1_000_000;

  constructor(run, random, { db }, name, tally, collection) {
    Object.assign(this, { run, random, db, name, tally, items: db.collection(collection) });
    this.index = { ...random.pick(kinds), name: 'built' };
    /** Whether writers add duplicates, too. */
    this.careless = random.chance(0.3);
  }

  async go() {
    const { random, items, db, index, tally } = this;
    await db.dropCollection(items.collectionName).catch(() => undefined);
    await db.createCollection(items.collectionName);
    const documents = this.#documents();
    await items.insertMany(documents);
    for (const document of documents) this.#begin(document._id, document, 0).acked = 0;
    const from = ++this.#clock;
    const building = outcome(db.command({ createIndexes: items.collectionName, indexes: [index] }));
    const writing = Array.from({ length: writers }, (_, number) => this.#write(number, documents.length));
    const built = await building;
    const until = ++this.#clock;
    // Some statements find the index there.
    const statements = tally.statements + 20;
    while (tally.statements < statements)
      await Promise.race([...writing, items.countDocuments({ _id: random.below(9) })]);
    this.#writing = false;
    await Promise.all(writing);
    if (built.code === undefined) tally.built++;
    this.#checkOutcome(built, from, until);
    await this.#checkContents(built.code === undefined);
  }

  /** Documents of which none, or a few, have a key twice. */
  #documents() {
    const { random } = this;
    const documents = Array.from({ length: 3_000 + random.below(3_000) }, (_, id) => this.#make(id, id));
    if (random.chance(0.7)) {
      // Far apart, so that the build has met one of two, and not the other yet, when a writer comes.
      for (let n = 1 + random.below(2); n > 0; n--) {
        documents.push({ ...documents[random.below(1_000)], _id: documents.length });
      }
    }
    return documents;
  }

  #make(id, key) {
    const { random } = this;
    return { _id: id, k: random.chance(0.05) ? [key, -key - 1] : key, t: random.below(4), x: 0 };
  }

  #begin(id, document, sent) {
    const versions = this.#versions.get(id) ?? [];
    const version = { document, sent, acked: Infinity, endSent: Infinity, endAcked: Infinity };
    const last = versions.at(-1);
    if (last) last.endSent = sent;
    versions.push(version);
    this.#versions.set(id, versions);
    return version;
  }

  async #write(number, count) {
    const { random, tally } = this;
    // Documents that share a key are what it is about.
    const twins = this.#twins().filter((id) => id % writers === number);
    for (let fresh = count + number; this.#writing;) {
      const alive = (id) => this.#versions.get(id)?.at(-1).document;
      let id = random.chance(0.4) ? twins.pop() : undefined;
      id ??= random.below(Math.floor(count / writers)) * writers + number;
      const before = alive(id);
      const insert = !before || random.chance(0.2);
      if (insert) id = before ? (fresh += writers) : id;
      await this.#statement(id, insert ? undefined : before);
      tally.statements++;
    }
  }

  async #statement(id, before) {
    const { random, items } = this;
    const key = this.careless && random.chance(0.2) ? random.below(2_000) : this.#nextKey++;
    const after = !before
      ? this.#make(id, key)
      : random.weighted([
          [3, () => undefined],
          [3, () => ({ ...before, k: key })],
          [2, () => ({ ...before, x: before.x + 1 })],
          [1, () => ({ ...before, k: [key, before.k].flat() })],
          [1, () => ({ ...before, t: random.below(4) })],
          [0.5, () => prune({ ...before, l: [1, 2], k: [key] })],
        ]);
    const versions = this.#versions.get(id) ?? [];
    const version = this.#begin(id, after, ++this.#clock);
    const { code } = await outcome(
      !after
        ? items.deleteOne({ _id: id })
        : !before
          ? items.insertOne({ ...after })
          : items.replaceOne({ _id: id }, after),
    );
    const now = ++this.#clock;
    if (code === undefined) {
      version.acked = now;
      const ended = versions.at(-2);
      if (ended) ended.endAcked = now;
      return;
    }
    if (code !== duplicate && code !== parallelArrays) this.#report(`A writer got error ${code}`);
    // Nothing was changed.
    this.#versions.get(id).pop();
    const last = this.#versions.get(id).at(-1);
    if (last) last.endSent = Infinity;
    else this.#versions.delete(id);
  }

  /** What an index has of a document, as texts. */
  #keys({ k, t, l }) {
    const { key, sparse, partialFilterExpression: partial } = this.index;
    if (partial && !(t > 1)) return [];
    if (sparse && k === undefined) return [];
    const rest = 't' in key ? `,${t}` : 'l' in key ? `,${l}` : '';
    return [k].flat().map((each) => `${each}${rest}`);
  }

  #byKey(keep) {
    const byKey = new Map();
    if (!this.index.unique) return byKey;
    for (const [id, versions] of this.#versions) {
      for (const version of versions.filter(({ document }) => document).filter(keep)) {
        for (const key of this.#keys(version.document))
          byKey.set(key, [...(byKey.get(key) ?? []), { id, ...version }]);
      }
    }
    return byKey;
  }

  #twins() {
    return [...this.#byKey(() => true).values()]
      .filter(({ length }) => length > 1)
      .flatMap((all) => all.map(({ id }) => id));
  }

  #checkOutcome({ code, message }, from, until) {
    const meets = (all, start, end) =>
      all.some((a) => all.some((b) => a.id !== b.id && a[start] <= b[end] && b[start] <= a[end]));
    const began = ({ sent, endAcked }) => sent <= until && endAcked >= from;
    const mayFail = [...this.#byKey(began).values()].some((all) => meets(all, 'sent', 'endAcked'));
    const lasting = ({ acked, endSent }) => acked <= from && endSent >= until;
    const mustFail = [...this.#byKey(lasting).values()].some((all) => all.length > 1);
    if (code !== undefined && code !== duplicate && code !== parallelArrays)
      this.#report(`The build fails with ${code}: ${message}`);
    if (code === duplicate && !mayFail) this.#report('The build fails, and there was no duplicate');
    if (code === parallelArrays && !('l' in this.index.key))
      this.#report('The build fails, and there were no parallel arrays');
    if (code === undefined && mustFail)
      this.#report('The build succeeds, and there was a duplicate all the while');
  }

  async #checkContents(built) {
    const { items, index } = this;
    const expected = [...this.#versions.values()].flatMap((all) => all.at(-1).document ?? []);
    const stored = await items.find().hint({ $natural: 1 }).toArray();
    if (!isDeepStrictEqual(byId(stored), byId(expected)))
      this.#report('What is stored is not what was acknowledged');
    const names = (await items.indexes()).map(({ name }) => name);
    if (names.includes('built') !== built)
      this.#report('The index is listed and was not built, or the other way round');
    if (!built) return;
    const inIndex = expected.filter((each) => this.#keys(each).length > 0);
    const { partialFilterExpression: filter = {} } = index;
    const found = await items.find(filter).hint('built').toArray();
    if (!isDeepStrictEqual(byId(found), byId(inIndex)))
      this.#report(`The index holds ${found.length} documents of ${inIndex.length}`);
    if (index.unique) await this.#checkUnique(inIndex);
  }

  async #checkUnique(documents) {
    const { items, index, random } = this;
    const seen = new Set(documents.flatMap((each) => this.#keys(each)));
    if (seen.size !== documents.reduce((sum, each) => sum + this.#keys(each).length, 0))
      this.#report('A unique index holds a duplicate');
    for (let n = 0; n < 20; n++) {
      const { k, t } = random.pick(documents);
      const [one] = [k].flat();
      const filter = 't' in index.key ? { k: one, t } : { k: one, ...index.partialFilterExpression };
      const count = await items.countDocuments(filter, { hint: 'built' });
      if (count !== 1) this.#report(`The index finds ${count} documents for one key`);
      const { code } = await outcome(items.insertOne({ _id: `again ${n}`, k: one, t }));
      if (code !== duplicate) this.#report('A second document with the same key is accepted');
    }
  }

  #report(sentence) {
    this.run.report(`${this.name}: ${sentence}`, {
      index: JSON.stringify(this.index),
      builds: this.tally.builds,
    });
  }
}

function byId(documents) {
  return [...documents].sort((a, b) => a._id - b._id);
}

await main(15, generate);
