import { isDeepStrictEqual } from 'node:util';
import { compareItems, fields, itemIndexes, itemQuery, itemSorts, makeItem, prune } from './items.mjs';

const documents = 6_000;
const writers = 4;
const names = ['n', 'a', 's', 'tags', 'opt', 'text'];

/** Reads a large collection while several connections change it, so that reads pause in the middle of a batch. */
export class Storm {
  /** When what happened: every request and every reply is one moment. */
  #clock = 0;
  /** Per document its versions: the moments of the request that wrote one, and of the reply to the one that wrote the next. */
  #versions = [];
  #writing = true;

  constructor(run, random, { db }, name) {
    Object.assign(this, { run, random, db, name, items: db.collection('items') });
  }

  /** @returns How many documents were read. */
  async go() {
    const { random, db, items } = this;
    await db.dropCollection('items').catch(() => undefined);
    await db.createCollection('items');
    const made = Array.from({ length: documents }, (_, id) => makeItem(random, id));
    this.#versions = made.map((document) => [{ document, from: 0, until: Infinity }]);
    await items.insertMany(made);
    const indexes = itemIndexes.filter(() => random.chance(0.5));
    if (indexes.length > 0) await items.createIndexes(indexes);
    const writing = Array.from({ length: writers }, (_, number) => this.#write(number));
    let read = 0;
    for (let n = 0; n < 6; n++) read += await this.#read();
    this.#writing = false;
    await Promise.all(writing);
    return read;
  }

  async #write(number) {
    const { random, items } = this;
    while (this.#writing) {
      const id = random.below(documents / writers) * writers + number;
      const versions = this.#versions[id];
      const before = versions.at(-1).document;
      const document = prune({ ...before, ...fields(random, [random.pick(names)]), v: before.v + 1 });
      versions.push({ document, from: ++this.#clock, until: Infinity });
      await items.replaceOne({ _id: id }, document);
      versions.at(-2).until = ++this.#clock;
    }
  }

  async #read() {
    const { random, db } = this;
    const { filter, matches } = itemQuery(random);
    const sort = random.chance(0.6) ? random.pick(itemSorts) : undefined;
    const batchSize = random.pick([500, 2_000, documents]);
    const command = prune({ find: 'items', filter, sort, batchSize });
    const opened = ++this.#clock;
    const read = await db.runCursorCommand(command).setBatchSize(batchSize).toArray();
    const ended = ++this.#clock;
    const report = (sentence, details) =>
      this.run.report(`${this.name}, while others write: ${sentence}`, {
        command: JSON.stringify(command),
        ...details,
      });
    for (const document of read) {
      const stored = this.#between(document._id, opened, ended).some((each) =>
        isDeepStrictEqual(each.document, document),
      );
      if (!stored) report('A document was never like that', { document: JSON.stringify(document) });
      if (!matches(document)) report('A document does not match', { document: JSON.stringify(document) });
    }
    const times = new Map();
    for (const { _id } of read) times.set(_id, (times.get(_id) ?? 0) + 1);
    for (let id = 0; id < documents; id++) {
      const versions = this.#between(id, opened, ended);
      const count = times.get(id) ?? 0;
      if (versions.length === 1 && count !== Number(matches(versions[0].document)))
        report(`A document that nobody changes comes ${count} times`, {
          document: JSON.stringify(versions[0].document),
        });
    }
    const wrong = sort && read.findIndex((each, i) => i > 0 && compareItems(read[i - 1], each, sort) > 0);
    if (wrong > 0)
      report('The order is wrong', { documents: JSON.stringify(read.slice(wrong - 1, wrong + 1)) });
    return read.length;
  }

  /** The versions that may have been stored at some moment between two. */
  #between(id, from, until) {
    return this.#versions[id].filter((each) => each.from <= until && each.until >= from);
  }
}
