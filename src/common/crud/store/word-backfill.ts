import { setImmediate } from 'node:timers/promises';
import { Logger, type Provider, type Type } from '@nestjs/common';
import { getConnectionToken, getModelToken, type ModelDefinition } from '@nestjs/mongoose';
import { type Connection, type Model, type mongo, Schema, Types } from 'mongoose';
import { CRUD_CONNECTION, Database, OPERATION_LIMITS, reserveCollection } from '../../database/index.js';
import { DuplicateValueError } from '../../errors/index.js';
import { type SearchDefinition, WORDS } from '../search/search.js';
import { WordKeeper } from './word-keeper.js';

/** How far the words of a collection's older records have been gathered. */
interface SearchMark {
  /** Name of the collection. */
  readonly _id: string;
  /** Path of the words. It names the declaration that they are gathered for. */
  readonly path: string;
  /** The last record whose words have been stored. */
  readonly after?: Types.ObjectId;
  /** When every record had its words. */
  readonly finished?: Date;
}

/** Distinguishes these commands from those of requests in the database's logs and profiles. */
const COMMENT = 'words of older records';

/** A record as the backfill reads it. */
type Found = mongo.Document & { readonly _id: Types.ObjectId; readonly __v?: number };

/** Number of records to read at a time. */
const BATCH = 200;

/**
 * Number of words to write at a time, so that a batch of long texts stays within the limits of one operation.
 */
const MAX_WORDS = 5_000;

/** The collection of the marks, as a model, so that it is created at the start like others. */
export const SEARCH_MARKS: ModelDefinition = {
  name: 'SearchMark',
  collection: 'search_words',
  schema: reserveCollection(
    new Schema(
      {
        _id: String,
        path: String,
        after: Schema.Types.ObjectId,
        finished: Date,
      },
      { versionKey: false },
    ),
  ),
};

/**
 * Gathers the words of records that were stored before their fields were searched, or under another
 * declaration. Works in the background, in small batches, and continues where a killed process stopped. Several
 * processes may do the same work at the same time, which changes nothing.
 */
export class WordBackfill {
  private readonly logger = new Logger('Search');
  private readonly name: string;

  constructor(
    private readonly model: Model<Record<string, unknown>>,
    private readonly marks: Model<SearchMark>,
    private readonly database: Database,
    private readonly search: SearchDefinition,
    private readonly keeper = new WordKeeper(search, model.schema),
  ) {
    this.name = model.collection.collectionName;
  }

  async run(stopping: AbortSignal): Promise<void> {
    await this.declare();
    let records = 0;
    while (!stopping.aborted) {
      const mark = await this.unfinished();
      if (!mark) return;
      const found = await this.read(mark.after ? { _id: { $gt: mark.after } } : {});
      const last = found.at(-1)?._id;
      if (last && !mark.after) {
        this.logger.log(`Gathering the words of older ${this.name}; until then searches may miss some`);
      }
      await this.store(found);
      await this.note(last ? { $max: { after: last } } : { $set: { finished: new Date() } });
      records += found.length;
      if (!last && mark.after) this.logger.log({ records }, `The words of all ${this.name} are gathered`);
    }
  }

  /** Starts over if the words were gathered for another declaration, or never. */
  private async declare(): Promise<void> {
    const { path } = this.search;
    const begun = { $set: { path }, $unset: { after: 1, finished: 1 } } as const;
    const filter = { _id: this.name, path: { $ne: path } };
    try {
      await this.database.call(() =>
        this.marks.updateOne(filter, begun, { ...OPERATION_LIMITS, upsert: true }).exec(),
      );
    } catch (error) {
      // The mark already exists, with this path.
      if (!(error instanceof DuplicateValueError)) throw error;
    }
  }

  /** How far the words are gathered; null if all are, or another declaration applies by now. */
  private unfinished(): Promise<SearchMark | null> {
    const filter = { _id: this.name, path: this.search.path, finished: null };
    const query = this.marks.findOne(filter, null, { ...OPERATION_LIMITS }).lean<SearchMark>();
    return this.database.call(() => query.exec());
  }

  private async note(progress: mongo.UpdateFilter<SearchMark>): Promise<void> {
    const filter = { _id: this.name, path: this.search.path };
    await this.database.call(() =>
      this.marks.updateOne(filter, progress as object, { ...OPERATION_LIMITS }).exec(),
    );
  }

  private read(filter: mongo.Filter<mongo.Document>): Promise<Found[]> {
    const projection = Object.fromEntries([...this.search.fields, '__v'].map((path) => [path, 1]));
    return this.database.call(() =>
      this.model.collection
        .find(filter, { ...OPERATION_LIMITS, projection, comment: COMMENT })
        .sort({ _id: 1 })
        .limit(BATCH)
        .toArray(),
    ) as Promise<Found[]>;
  }

  private async store(found: readonly Found[]): Promise<void> {
    let chunk: [record: Found, words: object][] = [];
    let size = 0;
    for (const record of found) {
      const words = this.keeper.ofRecord(record);
      chunk.push([record, words]);
      size += Object.values(words[WORDS])
        .flat()
        .flatMap((field) => field.words).length;
      if (size < MAX_WORDS) continue;
      await this.storeChunk(chunk);
      [chunk, size] = [[], 0];
      // Requests come first.
      await setImmediate();
    }
    await this.storeChunk(chunk);
  }

  /** Stores words only if the texts they were made from are unchanged; otherwise the record is read again. */
  private async storeChunk(chunk: readonly (readonly [record: Found, words: object])[]): Promise<void> {
    if (chunk.length === 0) return;
    const updates = chunk.map(([{ _id, __v = null }, words]) => ({
      updateOne: { filter: { _id, __v }, update: { $set: words } },
    }));
    const { matchedCount } = await this.database.call(() =>
      this.model.collection.bulkWrite(updates as never, {
        ...OPERATION_LIMITS,
        ordered: false,
        comment: COMMENT,
      }),
    );
    if (matchedCount === chunk.length) return;
    const revisions = new Map(chunk.map(([{ _id, __v }]) => [String(_id), __v]));
    const current = await this.read({ _id: { $in: chunk.map(([{ _id }]) => _id) } });
    await this.store(current.filter(({ _id, __v }) => revisions.get(String(_id)) !== __v));
  }
}

/** Gathers the words of a resource's older records once the database is open. */
export function wordBackfillProvider(entity: Type<object>, search: SearchDefinition): Provider {
  return {
    provide: `${entity.name}WordBackfill`,
    useFactory: (
      model: Model<Record<string, unknown>>,
      marks: Model<SearchMark>,
      database: Database,
    ): WordBackfill => {
      const backfill = new WordBackfill(model, marks, database, search);
      database.inBackground(`Gathering the words of ${model.collection.collectionName}`, (stopping) =>
        backfill.run(stopping),
      );
      return backfill;
    },
    inject: [
      getModelToken(entity.name, CRUD_CONNECTION),
      getModelToken(SEARCH_MARKS.name, CRUD_CONNECTION),
      Database,
    ],
  };
}

/**
 * Has the words of a collection gathered again at the next start of a service that searches it, for code that
 * writes without them.
 */
export function forgetsWords(collection: string): Provider {
  return {
    provide: `${collection}:forgets-words`,
    useFactory: (connection: Connection, database: Database): true => {
      database.inBackground(`Forgetting the words of ${collection}`, async () => {
        const marks = connection.collection<SearchMark>(SEARCH_MARKS.collection ?? '');
        await database.call(() => marks.deleteOne({ _id: collection }, { ...OPERATION_LIMITS }));
      });
      return true;
    },
    inject: [getConnectionToken(CRUD_CONNECTION), Database],
  };
}
