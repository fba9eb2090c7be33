/**
 * Puts random queries to a collection with indexes of every kind, each query by every way there is: as the planner likes, with a
 * hint of each index, and as a scan in both directions. All have to find the same.
 *
 *   npm run check:indexes -w libs/embedded-mongodb -- --seed 1 --size 400
 *
 * `--size` is the number of queries. Where `REFERENCE_MONGODB_URI` names a real MongoDB, each answer is compared with its answer, too.
 */
import { BSON, Code, MaxKey, MinKey } from 'bson';
import { filter, sort } from '../differential/filters.mjs';
import { Random } from '../differential/random.mjs';
import { document, fieldNames, path, value } from '../differential/values.mjs';
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

/** The hinted partial index does not hold all that can match. */
const partialRefused = 291;
const succeeded = 'success';
const documentsPerSetup = 40;
const queriesPerSetup = 60;
/** Queries between two changes of some documents, which the indexes have to follow. */
const queriesPerChange = 10;

/** @param run See {@link main}. */
async function generate(run) {
  const server = await startEmbedded();
  const sides = [await connect(server.uri, 'generated_indexes')];
  const reference = referenceUri();
  if (reference) {
    sides.push(await connect(reference, 'generated_indexes'));
    await useClassicEngine(sides[1]);
  }
  const tally = { queries: 0, answers: 0, contradictions: 0 };
  for (let setup = 0; tally.queries < run.size; setup++) {
    const random = new Random(run.seed * 1_000_003 + setup * 7919);
    await new Setup(run, random, sides, tally).go(Math.min(queriesPerSetup, run.size - tally.queries));
  }
  for (const side of sides) await side.close();
  await server.stop();
  return `${tally.queries} queries by ${tally.answers} ways${reference ? ` on two servers (MongoDB contradicts its own scan ${tally.contradictions} times)` : ''}`;
}

/** One collection with its indexes, on each side. */
class Setup {
  constructor(run, random, sides, tally) {
    Object.assign(this, { run, random, sides, tally });
  }

  async go(queries) {
    const { random } = this;
    // Without arrays the planner may leave out a look at the documents themselves.
    this.flat = random.chance(0.5);
    const documents = Array.from({ length: documentsPerSetup }, (_, id) => this.document(id));
    await this.both(async ({ db }) => {
      await db.dropCollection('items').catch(() => undefined);
      await db.createCollection('items');
      await db.collection('items').insertMany(documents);
    });
    this.indexes = [];
    for (let n = 0; n < 9; n++) await this.createIndex(anyIndex(random, n));
    for (let n = 0; n < queries; n++) {
      if (n % queriesPerChange === 0) await this.change();
      await this.query();
      this.tally.queries++;
    }
  }

  document(id) {
    const made = richDocument(this.random, id);
    return this.flat ? withoutArrays(made) : made;
  }

  both(act) {
    return Promise.all(this.sides.map(act));
  }

  async createIndex(made) {
    const outcomes = await this.both(({ db }) =>
      outcome(db.command({ createIndexes: 'items', indexes: [made] })),
    );
    if (outcomes[0].code === notSupported) {
      // Refused aloud; the other side has to do without it, too.
      await this.both(({ db }) => outcome(db.command({ dropIndexes: 'items', index: made.name })));
      return;
    }
    this.compare(
      'createIndexes',
      outcomes.map(({ code }) => code ?? succeeded),
      { index: text(made) },
    );
    if (outcomes.every(({ code }) => code === undefined)) this.indexes.push(made);
  }

  /** Replaces, removes and inserts a few documents; the same ones fail on both sides. */
  async change() {
    const { random } = this;
    for (let n = 0; n < 5; n++) {
      const id = random.below(documentsPerSetup);
      const made = this.document(id);
      const removes = random.chance(0.2);
      const outcomes = await this.both(({ db }) => {
        const items = db.collection('items');
        if (removes) return outcome(items.deleteOne({ _id: id }));
        return outcome(items.replaceOne({ _id: id }, made, { upsert: true }));
      });
      this.compare(
        'change',
        outcomes.map(({ code }) => code ?? succeeded),
        { document: text(made) },
      );
    }
  }

  async query() {
    const { random } = this;
    random.startCase();
    const made = { filter: random.flawless(() => richFilter(random)) };
    if (random.chance(0.5)) made.sort = random.flawless(() => sort(random));
    if (made.sort && random.chance(0.4))
      Object.assign(made, { skip: random.below(4), limit: random.below(6) });
    const ways = [undefined, { $natural: 1 }, { $natural: -1 }, ...this.indexes.map(({ name }) => name)];
    const answers = await this.both((side) => Promise.all(ways.map((hint) => answer(side, made, hint))));
    const [mine, theirs] = answers;
    this.tally.answers += ways.length;
    const scan = mine[1];
    for (const [at, hint] of ways.entries()) {
      const details = {
        query: text(made),
        hint: JSON.stringify(hint ?? null),
        index: text(this.indexes[at - 3] ?? null),
      };
      this.checkWay(made, scan, mine[at], this.indexes[at - 3], hint, details);
      if (theirs && mine[at].code !== notSupported)
        this.checkReference(made, mine[at], theirs[at], theirs[1], this.indexes[at - 3], details);
    }
  }

  /** One way against the scan. */
  checkWay(made, scan, found, index, hint, details) {
    const report = (sentence) =>
      this.run.report(sentence, {
        ...details,
        scan: shown(scan),
        found: shown(found),
        documents: this.shownDocuments(scan, found),
      });
    if (scan.code !== undefined || found.code !== undefined) {
      // What an expression refuses shows only where a document is read that it refuses.
      if (scan.code === notSupported || found.code === notSupported) return;
      // A partial index that does not hold all that can match is refused.
      if (found.code === partialRefused && index?.partialFilterExpression) return;
      // A sparse index may lack the documents that a sort fails on.
      if (index?.sparse) return;
      // Of several documents that a sort fails on, another may come first.
      if (found.code === undefined || scan.code === undefined) report('A way fails and another does not');
      return;
    }
    if (index?.sparse) {
      // A hint of a sparse index asks for the documents in it, whatever the rest is.
      if (!made.limit && !made.skip && found.ids.some((id) => !scan.ids.includes(id)))
        report('A sparse index finds what does not match');
      return;
    }
    const same = made.sort ? String(found.ids) === String(scan.ids) : sameSet(found.ids, scan.ids);
    if (!same) report('A way finds something else than the scan');
    if (!made.sort && hint?.$natural === -1 && String(found.ids) !== String([...scan.ids].reverse()))
      report('The scan backwards is in another order');
    if (found.count !== scan.count) report('A way counts something else than the scan');
  }

  checkReference(made, mine, theirs, theirScan, index, details) {
    // Which of two mistakes is told, and whether a hint of a partial index can be followed, may differ.
    if (mine.code !== undefined && theirs.code !== undefined) return;
    if (mine.code === partialRefused || theirs.code === partialRefused) return;
    if (!index?.sparse && !sameSet(theirs.ids ?? [], theirScan.ids ?? [])) {
      this.tally.contradictions++;
      return;
    }
    const natural = details.hint.includes('$natural');
    const same =
      made.sort || natural
        ? String(mine.ids) === String(theirs.ids)
        : sameSet(mine.ids ?? [], theirs.ids ?? []);
    if (mine.code !== theirs.code || !same || mine.count !== theirs.count)
      this.run.report('MongoDB answers something else', {
        ...details,
        mine: shown(mine),
        mongodb: shown(theirs),
        documents: this.shownDocuments(mine, theirs),
      });
  }

  /** The outcome of a change on both sides; which of two mistakes is told may differ. */
  compare(what, [mine, theirs], details) {
    if (theirs === undefined || mine === theirs || (mine !== succeeded && theirs !== succeeded)) return;
    this.run.report(`${what} differs`, { ...details, mine, mongodb: theirs });
  }

  /** The documents that only one of two answers has. */
  shownDocuments(a, b) {
    const only = [...(a.ids ?? []), ...(b.ids ?? [])].filter(
      (id) => !(a.ids?.includes(id) && b.ids?.includes(id)),
    );
    return only.slice(0, 3).join();
  }
}

/** The identifiers that a query finds by one way, in order, and the number that it counts. */
async function answer({ db }, { filter: asked, sort: order, skip, limit }, hint) {
  const options = Object.fromEntries(
    Object.entries({ sort: order, skip, limit, hint }).filter(([, each]) => each !== undefined),
  );
  const found = await outcome(
    db
      .collection('items')
      .find(asked, { ...options, projection: { _id: 1 } })
      .toArray(),
  );
  if (found.code !== undefined) return { code: found.code, message: found.message };
  const counted = await outcome(
    db.command({
      count: 'items',
      query: asked,
      ...(hint === undefined ? {} : { hint }),
      ...(skip ? { skip } : {}),
      ...(limit ? { limit } : {}),
    }),
  );
  return { ids: found.value.map(({ _id }) => _id), count: counted.value?.n ?? `code ${counted.code}` };
}

/** A document of the differential test, now and then with a type that is rare. */
function richDocument(random, id) {
  const made = document(random, id);
  if (random.chance(0.1)) made[random.pick(fieldNames)] = rare(random);
  if (random.chance(0.1))
    made[random.pick(fieldNames)] = random.list(0, 3, () => random.list(0, 3, () => value(random, 1)));
  return made;
}

/** Each array's first element in its place. */
function withoutArrays(given) {
  if (Array.isArray(given)) return given.length > 0 ? withoutArrays(given[0]) : null;
  if (given === null || typeof given !== 'object' || Object.getPrototypeOf(given) !== Object.prototype)
    return given;
  return Object.fromEntries(Object.entries(given).map(([name, each]) => [name, withoutArrays(each)]));
}

function rare(random) {
  return random.pick([
    new Code('f'),
    new Code('g'),
    new MinKey(),
    new MaxKey(),
    'x'.repeat(2_000) + random.below(3),
  ]);
}

/** A filter of the differential test, or of what it leaves out: order comparisons with the ends and with null, deep nesting. */
function richFilter(random) {
  if (random.chance(0.7)) return filter(random, 3);
  const name = path(random, { positions: false });
  const order = () => random.pick(['$gt', '$gte', '$lt', '$lte']);
  const operand = () =>
    random.weighted([
      [3, () => null],
      [1, () => new MinKey()],
      [1, () => new MaxKey()],
      [2, () => rare(random)],
      [2, () => value(random, 2)],
    ]);
  const condition = () =>
    random.weighted([
      [4, () => ({ [order()]: operand() })],
      [2, () => operand()],
      [2, () => ({ [order()]: operand(), [order()]: operand() })],
      [2, () => ({ $in: random.list(1, 4, operand) })],
      [1, () => ({ $elemMatch: { $elemMatch: { [order()]: value(random, 1) } } })],
      [1, () => ({ $elemMatch: { [random.pick(fieldNames)]: { [order()]: operand() } } })],
      [1, () => ({ $elemMatch: { [order()]: operand() } })],
    ]);
  const clause = { [name]: condition() };
  if (random.chance(0.3)) return { ...filter(random, 1), ...clause };
  if (random.chance(0.3)) return { $or: [clause, { [path(random, { positions: false })]: condition() }] };
  return clause;
}

function sameSet(a, b) {
  return a.length === b.length && String([...a].sort()) === String([...b].sort());
}

function shown({ ids, count, code, message }) {
  return code === undefined ? `${count}: ${ids.join()}` : `error ${code} ${message}`;
}

function text(given) {
  return BSON.EJSON.stringify(given, { relaxed: false });
}

await main(400, generate);
