/**
 * Runs random statements in sequence, with changes of indexes, collections and names among them, on a server that keeps being
 * restarted, in order or by SIGKILL, and on one that is not. Both have to answer the same all the while, hold the same in the
 * same order, and find by every index what they find without.
 *
 *   npm run check:sequences -w libs/embedded-mongodb -- --seed 1 --size 700
 *
 * `--size` is the number of statements. Where `REFERENCE_MONGODB_URI` names a real MongoDB, it has to answer the same as well.
 */
import { BSON } from 'bson';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { filter, sort } from '../differential/filters.mjs';
import { Random } from '../differential/random.mjs';
import { update } from '../differential/updates.mjs';
import { document, scalar } from '../differential/values.mjs';
import { anyIndex } from './any-index.mjs';
import {
  connect,
  main,
  notSupported,
  outcome,
  referenceUri,
  startEmbedded,
  useClassicEngine,
} from './support.mjs';

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const statementsPerRestart = 100;
const statementsPerCheck = 50;
const collections = ['one', 'two', 'three'];
const database = 'generated_sequences';

async function generate(run) {
  const dir = mkdtempSync(join(tmpdir(), 'sequences-'));
  const steady = await startEmbedded();
  const sides = { restarted: new Restarted(dir), steady: await connect(steady.uri, database) };
  await sides.restarted.start();
  if (referenceUri()) {
    sides.reference = await connect(referenceUri(), database);
    await useClassicEngine(sides.reference);
  }
  const sequence = new Sequence(run, new Random(run.seed), sides);
  try {
    await sequence.go();
  } finally {
    await sides.restarted.stop('SIGTERM');
  }
  await sides.steady.close();
  await steady.stop();
  await sides.reference?.close();
  rmSync(dir, { recursive: true, force: true });
  const { restarts, refused, failed } = sequence;
  return `${run.size} statements (${failed} failed alike, ${refused} refused), ${restarts} restarts, ${Object.keys(sides).length} servers`;
}

/** A server in a process of its own that can be ended and started again over the same folder. */
class Restarted {
  constructor(dir) {
    this.dir = dir;
  }

  async start() {
    const options = [cli, '--dir', this.dir, '--port', '0'];
    this.child = spawn(process.execPath, options, { stdio: ['ignore', 'pipe', 'inherit'] });
    this.exited = once(this.child, 'exit');
    const [line] = await once(this.child.stdout, 'data');
    const { MongoClient } = await import('mongodb');
    this.client = await new MongoClient(String(line).trim(), { ignoreUndefined: true }).connect();
    this.db = this.client.db(database);
  }

  async stop(signal) {
    await this.client.close();
    this.child.kill(signal);
    await this.exited;
  }
}

class Sequence {
  restarts = 0;
  refused = 0;
  failed = 0;
  #nextId = 0;
  #nextIndex = 0;

  constructor(run, random, sides) {
    Object.assign(this, { run, random, sides });
  }

  async go() {
    const { run, random, sides } = this;
    for (let statement = 1; statement <= run.size; statement++) {
      await this.#statement();
      if (statement % statementsPerCheck === 0) await this.#check();
      if (statement % statementsPerRestart !== 0) continue;
      await sides.restarted.stop(random.pick(['SIGTERM', 'SIGKILL']));
      await sides.restarted.start();
      this.restarts++;
      await this.#check();
    }
  }

  /** Does something on every side, and compares what it comes to. */
  async #statement() {
    const { random } = this;
    random.startCase();
    random.mistaken = true;
    const name = random.pick(collections);
    const id = () => random.below(this.#nextId + 1);
    const made = random.weighted([
      [8, () => this.#insert(name)],
      [8, () => ({ update: name, updates: [{ q: { _id: id() }, u: update(random) }] })],
      [2, () => ({ update: name, updates: [{ q: { _id: id() }, u: update(random), upsert: true }] })],
      [
        2,
        () => ({
          update: name,
          updates: [
            { q: filter(random, 1), u: { $set: { x: scalar(random) }, $inc: { v: 1 } }, multi: true },
          ],
        }),
      ],
      [
        2,
        () => ({
          update: name,
          updates: [{ q: filter(random, 1), u: { $inc: { v: 1 } }, hint: { $natural: 1 } }],
        }),
      ],
      [2, () => ({ delete: name, deletes: [{ q: { _id: id() }, limit: 1 }] })],
      [1, () => ({ delete: name, deletes: [{ q: filter(random, 1), limit: 1, hint: { $natural: 1 } }] })],
      [0.5, () => ({ delete: name, deletes: [{ q: filter(random, 1), limit: 0 }] })],
      [
        2,
        () => ({
          findAndModify: name,
          query: filter(random, 1),
          sort: sort(random),
          update: { $set: { x: scalar(random) } },
        }),
      ],
      [1, () => ({ findAndModify: name, query: filter(random, 1), sort: sort(random), remove: true })],
      [4, () => ({ find: name, filter: filter(random, 2), sort: sort(random), batchSize: 1_000 })],
      [
        3,
        () => ({
          find: name,
          filter: filter(random, 2),
          hint: { $natural: random.pick([1, -1]) },
          limit: 1 + random.below(5),
          singleBatch: true,
        }),
      ],
      [2, () => ({ count: name, query: filter(random, 2) })],
      [3, () => ({ createIndexes: name, indexes: [this.#index()] })],
      [1, () => ({ dropIndexes: name, index: `index_${random.below(this.#nextIndex + 1)}` })],
      [0.1, () => ({ dropIndexes: name, index: '*' })],
      [0.15, () => ({ drop: name })],
      [
        0.2,
        () => ({
          renameCollection: `${database}.${name}`,
          to: `${database}.${random.pick(collections)}`,
          dropTarget: random.chance(0.5),
        }),
      ],
      [0.3, () => ({ create: name })],
    ]);
    await this.#compare(made);
  }

  #insert(name) {
    const { random } = this;
    const documents = random.list(1, 6, () =>
      document(random, random.chance(0.1) ? random.below(this.#nextId + 1) : this.#nextId++),
    );
    return { insert: name, documents, ordered: random.chance(0.5) };
  }

  #index() {
    return { ...anyIndex(this.random, this.random.below(9)), name: `index_${this.#nextIndex++}` };
  }

  async #compare(made) {
    const answers = {};
    for (const [name, { client, db }] of Object.entries(this.sides)) {
      const target = 'renameCollection' in made ? client.db('admin') : db;
      answers[name] = summary(made, await outcome(target.command(made, { promoteValues: false })));
    }
    const { restarted, steady, reference } = answers;
    if (restarted !== steady) this.#report('A restart makes a difference', made, answers);
    if (reference === undefined || restarted === reference) {
      if (restarted.startsWith('error')) this.failed++;
      return;
    }
    if (isRefused(restarted)) {
      this.refused++;
      return this.#copy();
    }
    this.#report('MongoDB answers something else', made, answers);
    await this.#copy();
  }

  /** Compares all that is stored, and each index with a scan. */
  async #check() {
    const contents = {};
    for (const [name, { db }] of Object.entries(this.sides)) contents[name] = await this.#contents(name, db);
    const { restarted, steady, reference } = contents;
    const made = { check: this.restarts };
    if (restarted !== steady) this.#report('A restart makes a difference to the contents', made, contents);
    if (reference !== undefined && reference !== restarted) {
      this.#report('MongoDB holds something else', made, contents);
      await this.#copy();
    }
  }

  async #contents(side, db) {
    const lines = [];
    for (const name of await collectionNames(db)) {
      const items = db.collection(name);
      const documents = await items.find({}, { hint: { $natural: 1 }, raw: true }).toArray();
      lines.push(
        `${name}: ${(await db.command({ count: name })).n}`,
        ...documents.map((each) => text(BSON.deserialize(each, { promoteValues: false }))),
      );
      const scan = await items.find().hint({ $natural: 1 }).toArray();
      const found = await items.find().toArray();
      if (ids(found) !== ids(scan))
        this.#report(`${side}: without a sort, ${name} is not in the order of insertion`);
      for (const index of (await items.indexes()).sort((a, b) => (a.name < b.name ? -1 : 1))) {
        lines.push(text(index));
        if (index.sparse) continue;
        const held = index.partialFilterExpression ?? {};
        const expected = await items.find(held).hint({ $natural: 1 }).toArray();
        const indexed = await items.find(held).hint(index.name).toArray();
        if (sortedIds(indexed) !== sortedIds(expected))
          this.#report(`${side}: index ${index.name} of ${name} holds something else than a scan finds`);
      }
    }
    return lines.join('\n');
  }

  /** Makes the reference hold what the others hold, where it has gone another way. */
  async #copy() {
    const [from, to] = [this.sides.steady.db, this.sides.reference.db];
    await to.dropDatabase();
    for (const name of await collectionNames(from)) {
      await to.createCollection(name);
      const documents = await from
        .collection(name)
        .find({}, { hint: { $natural: 1 }, promoteValues: false })
        .toArray();
      if (documents.length > 0) await to.collection(name).insertMany(documents);
      const indexes = (await from.collection(name).indexes()).filter((each) => each.name !== '_id_');
      for (const index of indexes) await outcome(to.command({ createIndexes: name, indexes: [index] }));
    }
  }

  #report(sentence, made = {}, answers = {}) {
    this.run.report(sentence, { statement: text(made), ...differing(answers) });
  }
}

/** What is told of an answer, as text: the parts that do not depend on the server. */
function summary(made, { value, code }) {
  if (code !== undefined) return `error ${code}`;
  const { n, nModified, writeErrors, cursor, numIndexesAfter, lastErrorObject } = value;
  const errors = writeErrors?.map((each) => [each.index, each.code]);
  return text({
    n,
    nModified,
    errors,
    found: cursor?.firstBatch,
    value: value.value,
    numIndexesAfter,
    lastErrorObject,
  });
}

/** The lines in which texts differ, in place of all. */
function differing(texts) {
  const lines = Object.entries(texts).map(([name, each]) => [name, each.split('\n')]);
  const all = lines.map(([, each]) => new Set(each));
  return Object.fromEntries(
    lines.map(([name, each]) => [
      name,
      each
        .filter((line) => !all.every((other) => other.has(line)))
        .slice(0, 4)
        .join('\n             '),
    ]),
  );
}

/** Whether the embedded server lacks what a statement, or one of its batch, asks for. */
function isRefused(answer) {
  return answer === `error ${notSupported}` || answer.includes(`,{"$numberInt":"${notSupported}"}]`);
}

async function collectionNames(db) {
  return (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name).sort();
}

const ids = (documents) => documents.map(({ _id }) => text(_id)).join();
const sortedIds = (documents) =>
  documents
    .map(({ _id }) => text(_id))
    .sort()
    .join();

function text(value) {
  return BSON.EJSON.stringify(value, { relaxed: false });
}

await main(700, generate);
