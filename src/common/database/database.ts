import { Injectable, Logger, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { InjectConnection } from '@nestjs/mongoose';
import mongoose, { type Connection, type Cursor, type mongo } from 'mongoose';
import {
  DatabaseTooSlowError,
  DatabaseUnavailableError,
  IndexUnavailableError,
  OUTAGE,
  reasonOf,
} from '../errors/index.js';
import { type BackgroundTask, BackgroundTasks, pause } from './background-tasks.js';
import { coalesced } from './batches.js';
import { prepareCollections, rejectReservedCollections } from './collections.js';
import { DeadlineError, isTimeout, translateDatabaseError, unwrapped } from './database-errors.js';
import { DatabaseMetrics } from './database-metrics.js';
import {
  CALL_DEADLINE_MS,
  CONNECTION_LIMITS,
  DURABLE_WRITES,
  EMBEDDED_CONNECTIONS,
  MADE_AT_A_TIME,
  MAX_RETRY_MS,
  OPEN_RETRY_MS,
  OPERATION_LIMITS,
  PROBE_MS,
  RECONNECT_ATTEMPTS,
  RECONNECT_RETRY_MS,
} from './database-limits.js';
import { CRUD_CONNECTION, DatabaseServer, UnusableDatabaseError } from './database-server.js';

/** A cursor of Mongoose, whose types omit this method. */
interface WithDriverCursor<T> {
  getDriverCursor(): Promise<mongo.FindCursor<T>>;
}

/** Keeps the connection open, and applies time limits and error handling to every operation. */
@Injectable()
export class Database implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('Database');
  private readonly tasks = new BackgroundTasks();
  /** Tasks that begin once the database is open. */
  private readonly waiting: [name: string, task: BackgroundTask][] = [];
  private opened = false;
  /** Collections without which the others can be used. */
  private readonly ofResources = new Set<string>();
  private unindexed: ReadonlySet<string> = new Set();
  /** Whether the database answers a ping at once. Operations that end at the same time share one ping. */
  private readonly isReachable = coalesced(() =>
    withDeadline(this.sendPing(), PROBE_MS).then(
      () => true,
      () => false,
    ),
  );

  /** Options of every operation. Spread them into a new object for each: Mongoose writes into the options of a query. */
  readonly limits: { readonly maxTimeMS: number; readonly session?: mongo.ClientSession } = OPERATION_LIMITS;

  /** Resolves once the writes that are to share a command have come; in a transaction only. */
  readonly waitForGroup?: () => Promise<void> | undefined;

  constructor(
    @InjectConnection(CRUD_CONNECTION) private readonly connection: Connection,
    private readonly server: DatabaseServer,
    /** Metrics about the database. */
    readonly metrics: DatabaseMetrics,
  ) {}

  /**
   * Opens the database. If it cannot be reached yet, the service still starts, not ready, and keeps trying.
   *
   * @throws UnusableDatabaseError if the embedded database cannot be used
   * @throws Error if a resource has the collection of one of the service's own models
   */
  async onApplicationBootstrap(): Promise<void> {
    rejectReservedCollections(this.connection.models);
    await this.open().catch((error: unknown) => {
      if (error instanceof UnusableDatabaseError) throw error;
      this.logger.error(
        { ...OUTAGE, reason: reasonOf(error) },
        'The database cannot be opened; trying again',
      );
      this.tasks.run('Opening the database', () =>
        this.open().catch((cause: unknown) => {
          if (!(cause instanceof UnusableDatabaseError)) throw cause;
          this.logger.error({ reason: reasonOf(cause) }, 'The database cannot be opened');
        }),
      );
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.tasks.stop();
    // A shared connection is the application's to close.
    if (!this.server.isShared) await this.connection.close();
    await this.server.stop();
  }

  /** The resources of which the database cannot build an index. */
  get unavailable(): readonly string[] {
    return [...this.unindexed];
  }

  /** Has an index that cannot be built stop one resource, whose check this returns. It throws IndexUnavailableError. */
  indexesOf(name: string): () => void {
    this.ofResources.add(name);
    return () => {
      if (this.unindexed.has(name)) throw new IndexUnavailableError();
    };
  }

  /**
   * Runs one operation within the deadline.
   *
   * @throws DatabaseTooSlowError if the database can be reached, but the operation ran into a time limit
   * @throws DatabaseUnavailableError if the database cannot be reached
   * @throws DuplicateValueError if a unique value would be repeated
   */
  async call<T>(operation: () => PromiseLike<T>): Promise<T> {
    if (!this.opened) throw new DatabaseUnavailableError();
    try {
      return await withDeadline(operation(), CALL_DEADLINE_MS);
    } catch (thrown) {
      const error = unwrapped(thrown);
      const isSlow = isTimeout(error) && (await this.isReachable());
      const known = isSlow ? new DatabaseTooSlowError({ cause: error }) : translateDatabaseError(error);
      // An error that is known already was counted where it arose.
      if (known !== error) this.metrics.failed(known);
      throw known;
    }
  }

  /** Starts a session, which its caller ends. */
  startSession(): mongo.ClientSession {
    if (!this.opened) throw new DatabaseUnavailableError();
    return this.connection.getClient().startSession();
  }

  /**
   * The same database for operations in a transaction.
   *
   * @param take carries out the operations, which a transaction takes one after another
   * @param waitForGroup waits for writes that are to share a command
   */
  within(
    session: mongo.ClientSession,
    take: <T>(operation: () => Promise<T>) => Promise<T>,
    waitForGroup: () => Promise<void> | undefined,
  ): Database {
    const call: Database['call'] = (operation) => take(() => this.call(operation));
    return Object.create(this, {
      limits: { value: { ...OPERATION_LIMITS, session } },
      call: { value: call },
      waitForGroup: { value: waitForGroup },
    }) as Database;
  }

  /**
   * Iterates a lean query, each step within the deadline, and closes the cursor when the reader stops.
   *
   * @param sample receives one record of each batch
   */
  async *iterate<T>(
    open: () => Pick<Cursor<T>, 'next'>,
    sample?: (record: T) => void,
  ): AsyncGenerator<T, void, undefined> {
    const cursor = await this.call(() => (open() as unknown as WithDriverCursor<T>).getDriverCursor());
    try {
      for (;;) {
        const item = await this.call(() => cursor.next());
        if (item === null) return;
        sample?.(item);
        yield item;
        // The rest of the batch is here already and can neither fail nor wait. Decoding all of it at once
        // would take long.
        while (cursor.bufferedCount() > 0) yield* cursor.readBufferedDocuments(MADE_AT_A_TIME);
      }
    } finally {
      // Not awaited: a database that hangs must not delay the error, and the server ends idle cursors itself.
      cursor.close().catch(() => undefined);
    }
  }

  /** Runs a task once the database is open, and retries it if it fails. The shutdown waits for its current step. */
  inBackground(name: string, task: BackgroundTask): void {
    if (this.opened) this.tasks.run(name, task);
    else this.waiting.push([name, task]);
  }

  /** Resolves when the database answers, or rejects within five seconds. Those who ask at the same time share a ping. */
  readonly ping = coalesced(() => this.call(() => this.sendPing()));

  private async sendPing(): Promise<void> {
    await this.connection.db?.command({ ping: 1, ...OPERATION_LIMITS });
  }

  /** Runs the embedded database whenever the process that ran it has ended, and has the driver find a lost one. */
  private async keepConnected(stopping: AbortSignal): Promise<void> {
    for (let attempts = 0; !stopping.aborted; await pause(RECONNECT_RETRY_MS, stopping)) {
      attempts = this.connection.readyState === mongoose.ConnectionStates.connected ? 0 : attempts + 1;
      if (attempts === 0) continue;
      try {
        await this.server.takeOver();
        if (attempts % RECONNECT_ATTEMPTS !== 0) continue;
        // The driver's monitor waits forever if it writes to a socket that is just closing.
        const client = this.connection.getClient();
        await client.close();
        await client.connect();
      } catch (error) {
        this.logger.error(
          { ...OUTAGE, reason: reasonOf(error) },
          'The database cannot be reached; trying again',
        );
      }
    }
  }

  /** Makes the collections and indexes. */
  private async prepare(uri: string | undefined): Promise<void> {
    // By its address, without a socket time-out: an index may take long to build.
    const limits = { serverSelectionTimeoutMS: 2_000, connectTimeoutMS: 2_000 };
    const client = uri === undefined ? undefined : new mongoose.mongo.MongoClient(uri, limits);
    try {
      await client?.connect();
      const database = client?.db() ?? this.connection.db;
      if (!database) throw new DatabaseUnavailableError();
      const failed = await prepareCollections(database, this.connection.models, this.ofResources);
      for (const [resource, error] of failed) {
        if (this.unindexed.has(resource)) continue;
        const told = { resource, reason: reasonOf(error) };
        this.logger.error(told, 'An index cannot be built; until it is, the resource answers 503');
      }
      this.unindexed = new Set(failed.keys());
    } finally {
      await client?.close();
    }
  }

  /** Builds the indexes that the database could not build, once their records or their rivals have gone. */
  private async keepIndexing(uri: string | undefined, stopping: AbortSignal): Promise<void> {
    for (let ms = OPEN_RETRY_MS; this.unindexed.size > 0; ms = Math.min(2 * ms, MAX_RETRY_MS)) {
      await pause(ms, stopping);
      if (stopping.aborted) return;
      await this.prepare(uri).catch(() => undefined);
    }
  }

  private async open(): Promise<void> {
    const uri = this.server.isShared ? undefined : await this.server.uri();
    await this.prepare(uri);
    if (uri !== undefined)
      await this.connection.openUri(uri, {
        ...CONNECTION_LIMITS,
        ...(this.server.isEmbedded
          ? { maxPoolSize: EMBEDDED_CONNECTIONS }
          : { writeConcern: DURABLE_WRITES }),
      });
    this.metrics.watch(this.connection.getClient());
    this.opened = true;
    this.tasks.run('Indexing', (stopping) => this.keepIndexing(uri, stopping));
    if (!this.server.isShared) this.tasks.run('Reconnecting', (stopping) => this.keepConnected(stopping));
    for (const [name, task] of this.waiting.splice(0)) this.tasks.run(name, task);
    // The embedded database's own address contains no password.
    this.logger.log({ ...(this.server.isEmbedded && { uri }) }, 'The database is open');
  }
}

/** Waits for work, but no longer than so many milliseconds. @throws the error that is made then */
export async function withDeadline<T>(
  work: PromiseLike<T>,
  ms: number,
  late: () => Error = () => new DeadlineError(`No answer within ${ms} ms`),
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const deadline = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(late()), ms);
  });
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
