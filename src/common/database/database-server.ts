import type { EmbeddedMongodb } from 'nestjs-mongo-crud-embedded';

/**
 * Name of the Mongoose connection of the generator, beside those of the application itself:
 * `@InjectConnection(CRUD_CONNECTION)`, `@InjectModel(Post.name, CRUD_CONNECTION)`.
 */
export const CRUD_CONNECTION = 'crud';

/** Token of the application's connection that the generator shares, if it does. */
export const SHARED_CONNECTION = Symbol('SharedConnection');

/**
 * The database to use: a MongoDB by its connection string, the embedded database by the folder of its files,
 * with the name of the database in it, by default `app`, or the embedded database in memory, for tests.
 */
export type DatabaseOptions = { uri: string } | { embeddedDir: string; name?: string } | { memory: true };

/** The embedded database lacks files or its package, or its files are damaged: another attempt would fail, too. */
export class UnusableDatabaseError extends Error {
  override readonly name = 'UnusableDatabaseError';
}

/** Options of a connection string that let other members than the primary answer. */
const READ_FROM = /^(?:readPreference|readPreferenceTags|maxStalenessSeconds)=/i;

/** The server to connect to: the configured MongoDB, or the embedded database, which it runs. */
export class DatabaseServer {
  private embedded?: Promise<EmbeddedMongodb>;
  /** All that were started: one that this process runs, and handles of others' that this process must not end. */
  private readonly started: Promise<EmbeddedMongodb>[] = [];

  /** @param options the database, or that the generator shares a connection of the application's own */
  constructor(private readonly options: DatabaseOptions | { shared: true }) {}

  /** Whether it is the embedded database, which can outlive its process. */
  get isEmbedded(): boolean {
    return 'embeddedDir' in this.options || 'memory' in this.options;
  }

  /** Whether the application opens and closes the connection. */
  get isShared(): boolean {
    return 'shared' in this.options;
  }

  /** Begins to start the embedded database in its own thread; {@link DatabaseServer.uri} reports a failure. */
  async prepare(): Promise<void> {
    this.uri().catch(() => undefined);
    if (this.isEmbedded) await embeddedMongodb().catch(() => undefined);
  }

  /** The connection string, without a read preference. Starts an embedded database. @throws UnusableDatabaseError */
  async uri(): Promise<string> {
    if ('uri' in this.options) return readingFromPrimary(this.options.uri);
    if ('shared' in this.options) throw new Error('The application opens its connection itself.');
    this.embedded ??= this.startEmbedded(this.options);
    const { name = 'app' } = this.options as { name?: string };
    try {
      return (await this.embedded).uri + name;
    } catch (error) {
      this.embedded = undefined;
      if (error instanceof UnusableDatabaseError) throw error;
      const { isDamage } = await embeddedMongodb();
      throw isDamage(error) ? new UnusableDatabaseError((error as Error).message, { cause: error }) : error;
    }
  }

  /** Runs the embedded database, at the same address, if the process that ran it has ended. */
  async takeOver(): Promise<void> {
    if ('embeddedDir' in this.options) await this.startEmbedded(this.options);
  }

  /** Stops the embedded database if this process runs it. */
  async stop(): Promise<void> {
    for (const embedded of await Promise.allSettled(this.started)) {
      if (embedded.status === 'fulfilled') await embedded.value.stop();
    }
  }

  private startEmbedded(options: Exclude<DatabaseOptions, { uri: string }>): Promise<EmbeddedMongodb> {
    const embedded = embeddedMongodb().then(({ startEmbeddedMongodb }) =>
      startEmbeddedMongodb('memory' in options ? { memory: true } : { dir: options.embeddedDir }),
    );
    this.started.push(embedded);
    return embedded;
  }
}

/** The connection string without a read preference: a secondary may lack data that a client was told is stored. */
function readingFromPrimary(uri: string): string {
  const [address = uri, options] = uri.split('?', 2);
  if (options === undefined) return uri;
  const kept = options.split('&').filter((option) => !READ_FROM.test(option));
  return `${address}?${kept.join('&')}`;
}

/** Loads the package of the embedded database, only if needed: an application with a MongoDB can do without it. */
async function embeddedMongodb() {
  try {
    return await import('nestjs-mongo-crud-embedded');
  } catch (error) {
    if (!/^Cannot find (?:package|module) 'nestjs-mongo-crud-embedded'/.test((error as Error).message))
      throw error;
    throw new UnusableDatabaseError(
      'The embedded database is not installed. Install the package nestjs-mongo-crud-embedded, or name a MongoDB by its URI.',
      { cause: error },
    );
  }
}
