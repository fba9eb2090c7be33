import { Buffer } from 'node:buffer';
import { BSON, MongoClient } from 'mongodb';
import { collectionCount } from './cases.mjs';

const raw = { raw: true };
const typed = { promoteValues: false, promoteLongs: false, bsonRegExp: true };

/** One of the two servers. */
export class Target {
  /** @param database Dropped first. */
  static async connect(uri, database) {
    const client = new MongoClient(uri, { maxPoolSize: 4, ignoreUndefined: true });
    await client.connect();
    const target = new Target(client, client.db(database));
    await target.database.dropDatabase();
    for (let number = 0; number < collectionCount; number++)
      await target.database.createCollection(name(number));
    return target;
  }

  constructor(client, database) {
    this.client = client;
    this.database = database;
  }

  close() {
    return this.client.close();
  }

  /** Makes an index; the outcome is compared like any other. */
  createIndex(collection, index) {
    return outcome(async () => {
      const reply = await this.database.command({ createIndexes: name(collection), indexes: [index] });
      return [`${reply.numIndexesBefore} to ${reply.numIndexesAfter}`];
    });
  }

  /** Puts the documents of a round in place of whatever is there. */
  async fill(collection, documents) {
    await this.database.command({ delete: name(collection), deletes: [{ q: {}, limit: 0 }] });
    return outcome(async () => {
      const reply = await this.database.command({ insert: name(collection), documents, ordered: false });
      return [`inserted ${reply.n}`, ...(reply.writeErrors ?? []).map(describeError)];
    });
  }

  /** What the case answers, as lines of text, and afterwards the whole collection if it is a write. */
  async run(made) {
    const answer = await outcome(() => this[made.kind](made, name(made.collection)));
    if (reads.has(made.kind)) return answer;
    return { ...answer, after: await this.#contents(made, answer.upserted) };
  }

  async find({ filter, sort, projection, skip, limit }, collection) {
    const found = await this.#cursor({ find: collection, filter, sort, projection, skip, limit });
    return sort ? found : found.sort();
  }

  async aggregate({ pipeline }, collection) {
    const found = await this.#cursor({ aggregate: collection, pipeline, cursor: {} });
    const computes = pipeline.some((stage) =>
      /set|project|addFields|facet/i.test(Object.keys(stage)[0] ?? ''),
    );
    const ordered = pipeline.some((stage) => '$sort' in stage);
    const lines = computes ? found.map((each) => text(sorted(decode(Buffer.from(each, 'hex'))))) : found;
    return ordered ? lines : lines.sort();
  }

  async count({ filter, skip, limit }, collection) {
    return [String((await this.#command({ count: collection, query: filter, skip, limit })).n)];
  }

  async distinct({ key, filter }, collection) {
    const reply = await this.#command({ distinct: collection, key, query: filter }, typed);
    return reply.values.map(text).sort();
  }

  async update({ filter, update, multi, upsert }, collection) {
    const reply = await this.#command({
      update: collection,
      updates: [defined({ q: filter, u: update, multi, upsert })],
    });
    const [failed] = reply.writeErrors ?? [];
    if (failed) throw failed;
    const lines = [
      `matched ${reply.n}, modified ${reply.nModified}, upserted ${reply.upserted?.length ?? 0}`,
    ];
    return Object.assign(lines, { upserted: reply.upserted?.[0]._id });
  }

  upsert(made, collection) {
    return this.update({ ...made, upsert: true }, collection);
  }

  async findAndModify({ filter, sort, update, remove, fields, new: after }, collection) {
    const command = { findAndModify: collection, query: filter, sort, update, remove, fields, new: after };
    const reply = await this.#command(command, typed);
    return [text(reply.value), text(reply.lastErrorObject)];
  }

  async delete({ filter, multi }, collection) {
    const reply = await this.#command({
      delete: collection,
      deletes: [{ q: filter, limit: multi ? 0 : 1 }],
    });
    const [failed] = reply.writeErrors ?? [];
    if (failed) throw failed;
    return [`deleted ${reply.n}`];
  }

  async insert({ document }, collection) {
    const reply = await this.#command({ insert: collection, documents: [document] });
    const [failed] = reply.writeErrors ?? [];
    if (failed) throw failed;
    return [`inserted ${reply.n}`];
  }

  #command(command, options) {
    return this.database.command(defined(command), options);
  }

  async #cursor(command) {
    const found = await this.database.runCursorCommand(defined(command), raw).toArray();
    return found.map((each) => Buffer.from(each).toString('hex'));
  }

  /** An upserted document may have a made-up `_id`, and like one that a pipeline made its fields in any order. */
  async #contents({ collection, update }, upserted) {
    const command = { find: name(collection), sort: { _id: 1 } };
    const found = await this.database.runCursorCommand(command, raw).toArray();
    return found.map((each) => {
      const document = decode(Buffer.from(each));
      // The driver has turned the reported `_id` into plain numbers, so types do not count.
      const isNew =
        upserted !== undefined && BSON.EJSON.stringify(document._id) === BSON.EJSON.stringify(upserted);
      if (isNew && upserted instanceof BSON.ObjectId) delete document._id;
      return isNew || Array.isArray(update) ? text(sorted(document)) : Buffer.from(each).toString('hex');
    });
  }
}

/** Kinds of cases that leave the collection as it is. */
export const reads = new Set(['find', 'aggregate', 'count', 'distinct']);

/** Without the options that are not given; the driver would send them as null. */
function defined(command) {
  return Object.fromEntries(Object.entries(command).filter(([, value]) => value !== undefined));
}

function name(collection) {
  return `c${collection}`;
}

async function outcome(run) {
  try {
    const lines = await run();
    return { lines, upserted: lines.upserted };
  } catch (error) {
    if (error.code === undefined) throw error;
    return {
      error: Number(error.code),
      message: error.errmsg ?? error.message,
      lines: [describeError(error)],
    };
  }
}

/** A duplicate is told with its index and key, every other error by its code. */
function describeError({ code, keyPattern, keyValue }) {
  return code === 11000 ? `11000 ${text(keyPattern)} ${text(keyValue)}` : `error ${code}`;
}

function decode(bytes) {
  return BSON.deserialize(bytes, typed);
}

function text(value) {
  return BSON.EJSON.stringify(value, { relaxed: false });
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object' || Object.getPrototypeOf(value) !== Object.prototype)
    return value;
  const names = Object.keys(value).sort();
  return Object.fromEntries(names.map((each) => [each, sorted(value[each])]));
}
