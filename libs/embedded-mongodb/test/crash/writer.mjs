import { MongoClient } from 'mongodb';
import { Model } from './model.mjs';

/** Documents that one statement inserts at most. */
const largestBatch = 20;
/** Documents that a writer keeps, so that a check after a hundred rounds takes no longer than after one. */
const mostDocuments = 200;

/** One client that inserts, updates and deletes documents of its own, one statement after another. */
export class Writer {
  model = new Model();
  /** Acknowledged increments of the counter that all writers share, and whether one is under way. */
  increments = 0;
  incrementing = false;
  statements = 0;
  #next = 0;

  constructor(number) {
    this.number = number;
  }

  /** Writes until the server is gone. */
  async run(uri) {
    const client = new MongoClient(uri, {
      maxPoolSize: 1,
      retryWrites: false,
      serverSelectionTimeoutMS: 2_000,
    });
    // Every second writer waits for the flush.
    const concern = this.number % 2 === 0 ? { writeConcern: { j: true } } : {};
    try {
      this.collection = client.db('crash').collection('items', concern);
      this.counters = client.db('crash').collection('counters', concern);
      for (;;) {
        await this.#statement();
        this.statements++;
      }
    } catch (error) {
      const gone = error.errorResponse ?? error;
      if (!/Network|ServerSelection|PoolCleared|Topology/.test(gone.name)) throw error;
    } finally {
      await client.close();
    }
  }

  /** The writer's documents of a collection. */
  found(documents) {
    return documents.filter(({ writer }) => writer === this.number);
  }

  async #statement() {
    const known = [...this.model.documents.keys()];
    const id = known[Math.floor(Math.random() * known.length)];
    const dice = Math.random();
    if (id === undefined || (dice < 0.3 && known.length < mostDocuments)) return this.#insert();
    if (dice < 0.6) return this.#increment(id);
    if (dice < 0.7) return this.#tag(id);
    if (dice < 0.8) return this.#delete(known.slice(0, 1 + Math.floor(Math.random() * largestBatch)));
    if (dice < 0.9) return this.#count();
    return this.#duplicate(id);
  }

  #insert() {
    const documents = Array.from({ length: 1 + Math.floor(Math.random() * largestBatch) }, () =>
      this.#make(),
    );
    const outcome = documents.map((document) => [document._id, document]);
    return this.model.perform(outcome, () =>
      this.collection.insertMany(documents.map((document) => ({ ...document }))),
    );
  }

  #increment(id) {
    const before = this.model.documents.get(id);
    const after = { ...before, n: before.n + 1, email: `${id}+${before.n + 1}@example.org` };
    return this.model.perform([[id, after]], () =>
      this.collection.updateOne({ _id: id, n: before.n }, { $inc: { n: 1 }, $set: { email: after.email } }),
    );
  }

  #tag(id) {
    const before = this.model.documents.get(id);
    const tag = `tag ${Math.floor(Math.random() * 50)}`;
    const after = { ...before, tags: [...before.tags, tag] };
    return this.model.perform([[id, after]], () =>
      this.collection.findOneAndUpdate({ email: before.email }, { $push: { tags: tag } }),
    );
  }

  #delete(ids) {
    const outcome = ids.map((id) => [id, undefined]);
    return this.model.perform(outcome, () => this.collection.deleteMany({ _id: { $in: ids } }));
  }

  async #count() {
    this.incrementing = true;
    await this.counters.updateOne({ _id: 'shared' }, { $inc: { n: 1 } }, { upsert: true });
    this.incrementing = false;
    this.increments++;
  }

  /** An e-mail address that is taken is refused, and changes nothing. */
  async #duplicate(id) {
    const copy = { ...this.#make(), email: this.model.documents.get(id).email };
    try {
      await this.collection.insertOne(copy);
    } catch (error) {
      if (error.code === 11000) return;
      throw error;
    }
    throw new Error(`a second document with the e-mail address ${copy.email} was accepted`);
  }

  #make() {
    const id = `${this.number}-${this.#next++}-${Math.random().toString(36).slice(2)}`;
    const tags = Array.from({ length: Math.floor(Math.random() * 4) }, (_, i) => `tag ${i}`);
    return {
      _id: id,
      writer: this.number,
      n: 0,
      email: `${id}@example.org`,
      tags,
      text: 'x'.repeat(Math.random() * 500),
    };
  }
}
