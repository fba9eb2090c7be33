/**
 * What a queue asks of its database: claims by findOneAndUpdate, batches of updates on arrays of documents, inserts of which some
 * are duplicates, on a collection with unique, compound, sparse, partial and TTL indexes.
 *
 *   REFERENCE_MONGODB_URI=mongodb://127.0.0.1:27017 npm run differential:queue -w libs/embedded-mongodb -- --seed 1 --size 3000
 *
 * `--size` is the number of statements; after each, both servers must hold the same.
 */
import { BSON } from 'bson';
import { connect, main, referenceUri, startEmbedded } from '../generators/support.mjs';
import { Random } from './random.mjs';

const statementsPerCollection = 150;
const statuses = ['new', 'claimed', 'done', 'failed'];
const indexes = [
  { key: { tenant: 1, event: 1 }, name: 'event', unique: true },
  { key: { key: 1 }, name: 'key', unique: true, sparse: true },
  { key: { 'deliveries.to': 1, tenant: 1 }, name: 'to' },
  { key: { due: 1, _id: 1 }, name: 'due', partialFilterExpression: { status: 'new' } },
  {
    key: { tenant: 1, lock: 1 },
    name: 'lock',
    unique: true,
    partialFilterExpression: { lock: { $exists: true } },
  },
  { key: { status: 1, due: -1 }, name: 'status' },
  { key: { doneAt: 1 }, name: 'ttl', expireAfterSeconds: 1_000_000_000 },
];

/** Makes the statements of one collection. */
class Queue {
  constructor(random) {
    this.random = random;
    this.next = 0;
  }

  statement() {
    const { random } = this;
    return random.weighted([
      [4, () => ['insertMany', this.jobs(), { ordered: random.chance(0.6) }]],
      [6, () => ['findOneAndUpdate', this.filter(), this.update(), this.claim()]],
      [4, () => ['updateMany', this.filter(), this.update({ unique: false })]],
      [4, () => ['bulkWrite', random.list(1, 6, () => this.write()), { ordered: random.chance(0.6) }]],
      [1, () => ['findOneAndDelete', this.filter(), this.claim()]],
      [1, () => ['deleteMany', { ...this.filter(), status: 'done' }]],
      [3, () => ['find', this.filter(), { sort: this.order() }]],
      [1, () => ['countDocuments', this.filter()]],
    ]);
  }

  jobs() {
    return this.random.list(1, 6, () => this.job());
  }

  job() {
    const { random } = this;
    const made = {
      _id: random.chance(0.9) ? this.next++ : random.below(this.next + 1),
      tenant: this.tenant(),
      event: random.below(40),
      status: random.pick(statuses),
      due: this.time(),
      tries: 0,
      deliveries: random.list(0, 3, () => this.delivery()),
    };
    if (random.chance(0.4)) made.key = random.below(30);
    if (random.chance(0.2)) made.lock = random.below(5);
    if (random.chance(0.2)) made.doneAt = this.time();
    return made;
  }

  delivery() {
    const { random } = this;
    return { to: random.below(6), state: random.pick(statuses), tries: random.below(3), at: this.time() };
  }

  tenant() {
    return this.random.pick(['acme', 'beta', null]);
  }

  time() {
    return new Date(1_700_000_000_000 + this.random.below(20) * 1_000);
  }

  filter() {
    const { random } = this;
    const clauses = [
      () => ({ _id: random.below(this.next + 1) }),
      () => ({ tenant: this.tenant() }),
      () => ({
        status: random.pick([
          { $in: ['new', 'failed'] },
          { $nin: ['done', 'claimed'] },
          'new',
          { $ne: 'done' },
        ]),
      }),
      () => ({ due: { [random.pick(['$lt', '$lte', '$gt'])]: this.time() } }),
      () => ({ tries: { $lt: random.below(4) } }),
      () => ({ deliveries: { $size: random.below(4) } }),
      () => ({ 'deliveries.to': random.pick([random.below(6), { $in: [1, 2] }, { $nin: [0, 3] }]) }),
      () => ({ deliveries: { $elemMatch: { to: random.below(6), state: random.pick(statuses) } } }),
      () => ({ lock: { $exists: random.chance(0.5) } }),
      () => ({ $or: [{ status: 'failed' }, { due: { $lt: this.time() } }] }),
    ];
    return Object.assign({}, ...random.list(1, 3, () => random.pick(clauses)()));
  }

  /**
   * Each part changes a field of its own, so that none is in conflict with another. Without those of unique indexes: which
   * document of several meets a duplicate first is the planner's affair.
   */
  update({ unique = true } = {}) {
    const { random } = this;
    const parts = [
      { $set: { status: random.pick(statuses) } },
      { $inc: { tries: 1 } },
      ...(unique ? [random.pick([{ $unset: { lock: '' } }, { $set: { lock: random.below(5) } }])] : []),
      ...(unique ? [random.pick([{ $unset: { key: 1 } }, { $set: { key: random.below(30) } }])] : []),
      random.pick([
        {
          $pull: {
            deliveries: random.pick([
              { to: random.below(6) },
              { state: { $in: ['done', 'failed'] } },
              { tries: { $lt: 2 } },
            ]),
          },
        },
        { $push: { deliveries: this.delivery() } },
        { $push: { deliveries: { $each: random.list(0, 2, () => this.delivery()), $slice: -4 } } },
        { $set: { 'deliveries.0.state': random.pick(statuses) } },
        { $inc: { 'deliveries.1.tries': 1 } },
        { $unset: { 'deliveries.0.at': 1 } },
      ]),
      random.pick([{ $set: { doneAt: this.time() } }, { $unset: { doneAt: 1 } }]),
    ];
    const result = {};
    for (const part of parts.filter(() => random.chance(0.4)))
      for (const [operator, fields] of Object.entries(part)) Object.assign((result[operator] ??= {}), fields);
    return Object.keys(result).length > 0 ? result : parts[0];
  }

  write() {
    const { random } = this;
    const one = { filter: { _id: random.below(this.next + 1) }, update: this.update() };
    return random.weighted([
      [6, () => ({ updateOne: one })],
      [1, () => ({ updateOne: { ...one, upsert: true } })],
      [1, () => ({ updateMany: { filter: this.filter(), update: { $inc: { tries: 1 } } } })],
      [1, () => ({ insertOne: { document: this.job() } })],
    ]);
  }

  claim() {
    const returnDocument = this.random.pick(['before', 'after']);
    return { sort: this.order(), returnDocument, includeResultMetadata: true };
  }

  order() {
    return this.random.pick([
      { due: 1, _id: 1 },
      { due: -1, _id: 1 },
      { status: 1, due: -1, _id: 1 },
      { _id: 1 },
    ]);
  }
}

/** Does a statement, and tells what came of it: of errors what a client acts on. */
async function done(collection, [method, ...given]) {
  try {
    const result = await collection[method](...given);
    return text(method === 'find' ? await result.toArray() : result);
  } catch (error) {
    if (error.code === undefined) throw error;
    const failed = [error.writeErrors ?? []].flat().map((each) => told(each.err ?? each));
    return text({ ...told(error), failed, result: error.result });
  }
}

function told({ code, index, keyPattern, keyValue, errmsg, message }) {
  const name = / index: (\S+) dup key/.exec(errmsg ?? message ?? '')?.[1];
  return { code, index, keyPattern, keyValue, name };
}

/** A member of a replica set adds its clocks to the answer of a command. */
function withoutClocks(value) {
  if (!value?.$clusterTime) return value;
  const clocks = ['$clusterTime', 'operationTime'];
  return Object.fromEntries(Object.entries(value).filter(([name]) => !clocks.includes(name)));
}

function text(value) {
  return BSON.EJSON.stringify(withoutClocks(value) ?? null, { relaxed: false });
}

await main(1_000, async (run) => {
  const server = await startEmbedded();
  const sides = await Promise.all([server.uri, referenceUri()].map((uri) => connect(uri, 'queue')));
  let statements = 0;
  let failures = 0;
  for (let round = 0; statements < run.size; round++) {
    const queue = new Queue(new Random(run.seed * 1_000_003 + round * 7919));
    for (const { db } of sides) {
      await db.collection('jobs').drop();
      await db.createCollection('jobs');
      await db.command({ createIndexes: 'jobs', indexes });
    }
    for (let n = 0; n < statementsPerCollection && statements < run.size; n++, statements++) {
      const statement = queue.statement();
      const [mine, theirs] = await Promise.all(sides.map(({ db }) => done(db.collection('jobs'), statement)));
      const [held, expected] = await Promise.all(
        sides.map(async ({ db }) => text(await db.collection('jobs').find().sort({ _id: 1 }).toArray())),
      );
      const failed = mine.startsWith('{"code"');
      if (failed) failures++;
      if (mine === theirs && held === expected) continue;
      // Which document of several fails first, and what is changed before it, is the planner's affair.
      if (mine === theirs && failed && statement[0] === 'updateMany') break;
      run.report('MongoDB does something else', { statement: text(statement), mine, mongodb: theirs });
      if (held !== expected) {
        run.report('MongoDB holds something else', { held, expected });
        break;
      }
    }
  }
  for (const side of sides) await side.close();
  await server.stop();
  return `${statements} statements of a queue (${failures} failed alike)`;
});
