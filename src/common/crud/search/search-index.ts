import { Logger, type Provider, type Type } from '@nestjs/common';
import { getConnectionToken, getModelToken, type ModelDefinition } from '@nestjs/mongoose';
import { type Connection, type Model, type mongo, Schema, type Types } from 'mongoose';
import {
  Batches,
  CRUD_CONNECTION,
  Database,
  OPERATION_LIMITS,
  reserveCollection,
  withDeadline,
} from '../../database/index.js';
import { errorMessages, IndexUnavailableError } from '../../errors/index.js';
import { withOneList } from '../schema/schema-paths.js';
import { RecordWords, type SearchDefinition } from './words.js';
import { WORDS } from '../schema/store-types.js';

/** The schema of a model whose records carry the words of their searched fields, hidden and indexed. */
export function searchable(schema: Schema, search: SearchDefinition | undefined): Schema {
  if (!search) return schema;
  const extended = schema.clone();
  extended.add({ [WORDS]: { type: Schema.Types.Mixed, select: false } });
  for (const scope of search.scopes) {
    const equalities = Object.fromEntries(scope.map((field) => [field, 1] as const));
    const words = `${search.path}.words`;
    // Newest first is the default order of a search.
    extended.index(withOneList(schema, { ...equalities, [words]: 1, createdAt: -1, _id: -1 }, words));
  }
  return extended;
}

/** Says that every record of a collection has its words. */
interface Checkpoint {
  /** Name of the collection. */
  readonly _id: string;
  /** Path of the words. It names the declaration that they are made for. */
  readonly path: string;
  readonly finished: Date;
}

/** The collection of the checkpoints, as a model, so that it is created at the start like others. */
export const SEARCH_CHECKPOINTS: ModelDefinition = {
  name: 'SearchCheckpoint',
  collection: 'search_words',
  schema: reserveCollection(new Schema({ _id: String, path: String, finished: Date }, { versionKey: false })),
};

/** Distinguishes these commands from those of requests in the database's logs and profiles. */
const COMMENT = 'words of older records';

/** Number of records to read at a time. */
const BATCH = 200;

/** Length of the texts whose words are stored by one command, so that it stays within its limits. Unit: UTF-16 code units. */
const MAX_TEXT = 50_000;

/** How long a search waits for the words of older records. Unit: milliseconds. */
const WAIT_MS = 1_000;

interface Found {
  readonly _id: Types.ObjectId;
  readonly __v?: number;
}

/**
 * The words of records that were stored before their fields were searched, under another declaration, or without the
 * service. They are made in the background at the start; until every record has its own, searches are rejected.
 * Several processes may do the same work, which changes nothing.
 */
export class SearchIndex {
  private readonly logger = new Logger('Search');
  private readonly name: string;
  private readonly words: RecordWords;
  private readonly storing: Batches<Found, boolean>;
  private complete = () => {};
  private readonly completed = new Promise<void>((resolve) => (this.complete = resolve));

  constructor(
    private readonly model: Model<Record<string, unknown>>,
    private readonly checkpoints: Model<Checkpoint>,
    private readonly database: Database,
    private readonly search: SearchDefinition,
  ) {
    this.name = model.collection.collectionName;
    this.words = new RecordWords(search, model.schema);
    const weight = { of: (record: Found) => this.words.lengthOf(record), max: MAX_TEXT };
    this.storing = new Batches((records) => this.store(records), { weight });
  }

  /** Makes the words of the records that have none for this declaration. */
  async build(stopping: AbortSignal): Promise<void> {
    const fields = Object.fromEntries([...this.search.fields, '__v'].map((path) => [path, 1]));
    let after: Types.ObjectId | undefined;
    let records = 0;
    // Another process may finish first.
    while (!(await this.isFinished())) {
      if (stopping.aborted) return;
      const last = (await this.read(after ? { _id: { $gt: after } } : {}, { _id: 1 })).at(-1)?._id;
      if (!last) {
        await this.finish();
        if (records > 0) this.logger.log({ records }, `The words of all ${this.name} are indexed`);
        break;
      }
      // An update of a record without words leaves an object of the words that it has set.
      const without = { [this.search.path]: { $not: { $type: 'array' } } };
      const found = await this.read(
        { _id: { $lte: last, ...(after && { $gt: after }) }, ...without },
        fields,
      );
      if (records === 0 && found.length > 0)
        this.logger.log(`Indexing the words of older ${this.name}; until then searches answer 503`);
      const stored = await Promise.all(found.map((record) => this.storing.add(record)));
      // Those that were changed meanwhile are read again.
      if (stored.every(Boolean)) after = last;
      records += found.length;
    }
    this.complete();
  }

  /** @throws IndexUnavailableError if a search would miss records whose words are not there yet */
  async require(): Promise<void> {
    const late = () => new IndexUnavailableError(errorMessages.searchUnavailable);
    await withDeadline(this.completed, WAIT_MS, late);
  }

  private async finish(): Promise<void> {
    const finished = { path: this.search.path, finished: new Date() };
    const options = { ...OPERATION_LIMITS, upsert: true };
    await this.database.call(() => this.checkpoints.replaceOne({ _id: this.name }, finished, options).exec());
  }

  private async isFinished(): Promise<boolean> {
    const filter = { _id: this.name, path: this.search.path, finished: { $exists: true } };
    const query = this.checkpoints.findOne(filter, null, { ...OPERATION_LIMITS }).lean();
    return (await this.database.call(() => query.exec())) !== null;
  }

  /** The first records that match, in the order of their identifiers. */
  private read(filter: object, projection: mongo.Document): Promise<Found[]> {
    return this.database.call(() =>
      this.model.collection
        .find<Found>(filter, { ...OPERATION_LIMITS, projection, comment: COMMENT })
        .sort({ _id: 1 })
        .limit(BATCH)
        .toArray(),
    );
  }

  /** Stores words only if the texts they were made from are unchanged. Returns of each whether all are stored. */
  private async store(records: readonly Found[]): Promise<boolean[]> {
    const updates = records.map(({ _id, __v = null, ...record }) => ({
      updateOne: { filter: { _id, __v }, update: { $set: this.words.ofRecord(record) } },
    }));
    const { matchedCount } = await this.database.call(() =>
      this.model.collection.bulkWrite(updates as never, {
        ...OPERATION_LIMITS,
        ordered: false,
        comment: COMMENT,
      }),
    );
    return records.map(() => matchedCount === records.length);
  }
}

/** Makes the search index of a resource, private to its module, and builds it once the database is open. */
export function searchProvider(entity: Type<object>, search: SearchDefinition): Provider {
  return {
    provide: SearchIndex,
    useFactory: (
      model: Model<Record<string, unknown>>,
      checkpoints: Model<Checkpoint>,
      database: Database,
    ): SearchIndex => {
      const index = new SearchIndex(model, checkpoints, database, search);
      database.inBackground(`Indexing the words of ${model.collection.collectionName}`, (stopping) =>
        index.build(stopping),
      );
      return index;
    },
    inject: [
      getModelToken(entity.name, CRUD_CONNECTION),
      getModelToken(SEARCH_CHECKPOINTS.name, CRUD_CONNECTION),
      Database,
    ],
  };
}

/** Has the words of a collection checked when a service that searches it starts, for code that writes without them. */
export function resetsSearchIndex(collection: string): Provider {
  return {
    provide: `${collection}:resets-search-index`,
    useFactory: (connection: Connection, database: Database): true => {
      database.inBackground(`Resetting the search index of ${collection}`, async () => {
        const checkpoints = connection.collection<Checkpoint>(SEARCH_CHECKPOINTS.collection ?? '');
        await database.call(() => checkpoints.deleteOne({ _id: collection }, { ...OPERATION_LIMITS }));
      });
      return true;
    },
    inject: [getConnectionToken(CRUD_CONNECTION), Database],
  };
}
