/**
 * Reads cursors batch by batch while documents are inserted, changed and removed and indexes and collections dropped, and checks
 * what section "Cursors" of the README promises.
 *
 *   npm run check:cursors -w libs/embedded-mongodb -- --seed 1 --size 300
 *
 * `--size` is the number of cursors. Where `REFERENCE_MONGODB_URI` names a real MongoDB, the same happens to it as well.
 */
import { isDeepStrictEqual } from 'node:util';
import { Random } from '../differential/random.mjs';
import { History } from './history.mjs';
import { compareItems, fields, itemIndexes, itemQuery, itemSorts, makeItem, prune } from './items.mjs';
import { Storm } from './storm.mjs';
import { connect, main, outcome, referenceUri, startEmbedded, useClassicEngine } from './support.mjs';

const cursorsPerRound = 6;
/** Rounds between two with reads that pause in the middle of a batch. */
const roundsPerStorm = 20;
const killed = 175;
async function generate(run) {
  const server = await startEmbedded();
  const sides = [['embedded', await connect(server.uri, 'generated_cursors')]];
  if (referenceUri()) {
    sides.push(['mongodb', await connect(referenceUri(), 'generated_cursors')]);
    await useClassicEngine(sides[1][1]);
  }
  const tally = { cursors: 0, documents: 0, killed: 0 };
  for (let round = 0; tally.cursors < run.size; round++) {
    for (const [name, side] of sides) {
      // The same round for each: what they read may differ, and what they promise not.
      const random = new Random(run.seed * 1_000_003 + round * 7919);
      await new Round(run, random, side, name, tally).go();
    }
    tally.cursors += cursorsPerRound;
    if (round % roundsPerStorm !== 0) continue;
    for (const [name, side] of sides) {
      const random = new Random(run.seed * 1_000_003 + round * 7919);
      tally.documents += await new Storm(run, random, side, name).go();
    }
  }
  for (const [, side] of sides) await side.close();
  await server.stop();
  return `${tally.cursors} cursors (${tally.documents} documents read, ${tally.killed} ended by a drop) on ${sides.length} servers`;
}

class Round {
  history = new History();
  nextId = 0;
  drops = [];

  constructor(run, random, { db }, name, tally) {
    Object.assign(this, { run, random, db, name, tally, items: db.collection('items') });
  }

  async go() {
    const { random, db } = this;
    for (const each of ['items', 'others']) await db.dropCollection(each).catch(() => undefined);
    await db.createCollection('items');
    this.indexes = itemIndexes.filter(() => random.chance(0.5));
    await this.insert(60 + random.below(100));
    if (this.indexes.length > 0) await this.items.createIndexes(this.indexes);
    const cursors = [];
    for (let opened = 0; opened < cursorsPerRound || cursors.some(({ ended }) => !ended);) {
      const open = cursors.filter(({ ended }) => !ended);
      const dice = random.next();
      if (opened < cursorsPerRound && (open.length === 0 || dice < 0.2)) {
        opened++;
        const cursor = new ReadCursor(this, random);
        await cursor.open();
        cursors.push(cursor);
      } else if (dice < 0.6) await random.pick(open).more();
      else if (dice < 0.99) await this.write();
      else await this.drop();
    }
  }

  /** A statement; the history has the same as the server. */
  async write() {
    const { random, history } = this;
    const ids = [...history.current.keys()];
    if (ids.length < 20) return this.insert(20);
    await random.weighted([
      [4, () => this.change(random.pick(ids), random.pick(['n', 'a', 's', 'tags', 'opt', 'text']))],
      [1, () => this.changeMany()],
      [2, () => this.remove([random.pick(ids)])],
      [0.5, () => this.remove(ids.filter(() => random.chance(0.2)))],
      [2, () => this.insert(1 + random.below(10))],
      [1, () => this.insertAgain()],
    ]);
  }

  make(id) {
    return makeItem(this.random, id);
  }

  async insert(count) {
    const made = Array.from({ length: count }, () => this.make(this.nextId++));
    this.history.begin();
    for (const each of made) this.history.set(each._id, each);
    await this.items.insertMany(made);
  }

  /** A document that is removed comes back as another. */
  async insertAgain() {
    const { history, random } = this;
    const gone = history.ids.filter((id) => !history.current.has(id));
    if (gone.length === 0) return;
    const made = this.make(random.pick(gone));
    history.begin();
    history.set(made._id, made);
    await this.items.insertOne(made);
  }

  async change(id, name) {
    const { history, random } = this;
    const before = history.current.get(id);
    const after = prune({ ...before, ...fields(random, [name]), v: before.v + 1 });
    history.begin();
    history.set(id, after);
    await this.items.replaceOne({ _id: id }, after);
  }

  async changeMany() {
    const { history, random } = this;
    const { filter, matches } = itemQuery(random);
    const change = fields(random, [random.pick(['n', 'a', 's', 'tags'])]);
    history.begin();
    for (const [id, before] of history.current) {
      if (matches(before)) history.set(id, { ...before, v: before.v + 1, ...change });
    }
    await this.items.updateMany(filter, { $inc: { v: 1 }, $set: change });
  }

  async remove(ids) {
    this.history.begin();
    for (const id of ids) this.history.set(id, undefined);
    await this.items.deleteMany({ _id: { $in: ids } });
  }

  /** Drops an index, or the collection by a drop or a rename; in the latter case it begins anew. */
  async drop() {
    const { random, history, db } = this;
    history.begin();
    if (random.chance(0.7) && this.indexes.length > 0) {
      const [dropped] = this.indexes.splice(random.below(this.indexes.length), 1);
      this.drops.push({ statement: history.now, index: dropped.name });
      await this.items.dropIndex(dropped.name);
      return;
    }
    this.drops.push({ statement: history.now });
    for (const id of history.current.keys()) history.set(id, undefined);
    if (random.chance(0.5)) await this.items.drop();
    else await this.items.rename('others', { dropTarget: true });
    await db.createCollection('items');
    this.indexes = [];
    await this.insert(30);
  }
}

/** A cursor, and what it has read. */
class ReadCursor {
  ended = false;
  read = [];

  constructor(round, random) {
    const { filter, matches } = itemQuery(random);
    const sort = random.chance(0.6) ? random.pick(itemSorts) : undefined;
    const complete = round.indexes.filter(
      ({ sparse, partialFilterExpression }) => !sparse && !partialFilterExpression,
    );
    const hints = [undefined, undefined, { $natural: 1 }, ...complete.map(({ name }) => name)];
    const hint = random.pick(hints);
    Object.assign(this, { round, random, matches, command: prune({ find: 'items', filter, sort, hint }) });
  }

  async open() {
    const { round, command } = this;
    const { queryPlanner } = await round.db.command({ explain: command, verbosity: 'queryPlanner' });
    const plan = JSON.stringify(queryPlanner.winningPlan);
    this.blocking = plan.includes('"SORT"') && round.name === 'embedded';
    this.natural = plan.includes('"COLLSCAN"');
    this.uses = [...plan.matchAll(/"indexName":"([^"]+)"/g)].map(([, name]) => name);
    this.opened = round.history.now;
    await this.#take({ ...command, batchSize: this.random.below(8) }, 'firstBatch');
  }

  more() {
    const batchSize = 1 + this.random.below(20);
    return this.#take({ getMore: this.id, collection: 'items', batchSize }, 'nextBatch');
  }

  async #take(command, batch) {
    const { round } = this;
    const { value, code, message } = await outcome(round.db.command(command, { promoteLongs: false }));
    const dropped = round.drops.find(
      ({ statement, index }) => statement > this.opened && (index === undefined || this.uses.includes(index)),
    );
    if (code !== undefined || dropped) {
      this.ended = true;
      if (code === killed && dropped) round.tally.killed++;
      else
        this.#report(
          dropped
            ? `What it reads was dropped, and it goes on (${code ?? 'no error'})`
            : `It fails with ${code}: ${message}`,
        );
      return;
    }
    this.id = value.cursor.id;
    // A first batch of no documents reads nothing yet.
    this.readAt ??= command.batchSize > 0 ? round.history.now : undefined;
    for (const document of value.cursor[batch]) {
      round.tally.documents++;
      this.read.push(document);
      this.#checkVersion(document);
    }
    if (String(this.id) !== '0') return;
    this.ended = true;
    this.#checkAll();
  }

  /** A document is as it was when the cursor read it, and matched. */
  #checkVersion(document) {
    const { history, name } = this.round;
    const expected = history.at(document._id, this.blocking ? this.readAt : history.now);
    // MongoDB may read a document earlier, while it tries several plans, or later, behind a sort of index keys.
    const versions =
      name === 'mongodb' ? history.between(document._id, this.opened, history.now) : [{ document: expected }];
    if (!versions.some((each) => isDeepStrictEqual(each.document, document)))
      this.#report('A document is not as it was when it was read', {
        document: JSON.stringify(document),
        expected: JSON.stringify(expected),
      });
    if (!this.matches(document))
      this.#report('A document does not match', { document: JSON.stringify(document) });
  }

  #checkAll() {
    const { history } = this.round;
    const times = new Map();
    for (const { _id } of this.read) times.set(_id, (times.get(_id) ?? 0) + 1);
    for (const id of history.ids) {
      const versions = history.between(id, this.opened, history.now);
      const [first] = versions;
      const throughout =
        first &&
        first.from <= this.opened &&
        versions.at(-1).until === Infinity &&
        versions.every((each, i) => i === 0 || !each.fresh) &&
        versions.every(({ document }) => this.matches(document));
      const count = times.get(id) ?? 0;
      const once = versions.length === 1 || this.natural || this.blocking;
      if (throughout && once && count !== 1)
        this.#report(`A document that matches all the while comes ${count} times`, { id });
      if (this.blocking) {
        const before = history.at(id, this.readAt);
        const expected = before && this.matches(before) ? 1 : 0;
        if (count !== expected)
          this.#report(`A document comes ${count} times out of a sort, not ${expected}`, { id });
      }
      if (this.natural && count > 1 + versions.slice(1).filter(({ fresh }) => fresh).length)
        this.#report('A scan gives a document twice', { id });
    }
    const { sort } = this.command;
    const wrong =
      sort && this.read.findIndex((each, i) => i > 0 && compareItems(this.read[i - 1], each, sort) > 0);
    if (wrong > 0)
      this.#report('The order is wrong', {
        documents: JSON.stringify(this.read.slice(wrong - 1, wrong + 1)),
      });
  }

  #report(sentence, details = {}) {
    const { name, run } = this.round;
    run.report(`${name}: ${sentence}`, {
      command: JSON.stringify(this.command),
      opened: this.opened,
      now: this.round.history.now,
      ...details,
    });
  }
}

await main(300, generate);
