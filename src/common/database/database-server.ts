import type { EmbeddedMongodb } from 'embedded-mongodb';

/**
 * The database to use: a MongoDB by its connection string, the embedded default by the folder of its files, or the embedded
 * default in memory, for tests.
 */
export type DatabaseOptions = { uri: string } | { embeddedDir: string } | { memory: true };

/** The files of the embedded default are damaged or missing. Another attempt to open them ends in the same way. */
export class DamagedDataError extends Error {
  override readonly name = 'DamagedDataError';
}

/** The embedded default is asked for, and its package is not installed. */
export class NoEmbeddedDatabaseError extends Error {
  override readonly name = 'NoEmbeddedDatabaseError';
}

/** Options of a connection string that have others than the primary answer. */
const READ_FROM = /^(?:readPreference|readPreferenceTags|maxStalenessSeconds)=/i;

/** Name of the database in the embedded default. */
const EMBEDDED_DATABASE = 'posts-and-todos';

/** The server that the connection goes to: the MongoDB that is named, or the embedded default, which it runs. */
export class DatabaseServer {
  private embedded?: Promise<EmbeddedMongodb>;
  /** All that were started: the one that this process runs, and those of others, whose end is not its business. */
  private readonly started: Promise<EmbeddedMongodb>[] = [];

  constructor(private readonly options: DatabaseOptions) {}

  /** Whether it is the embedded default, which survives the end of its process by itself. */
  get isEmbedded(): boolean {
    return !('uri' in this.options);
  }

  /**
   * Starts the embedded default in the background, where it is used; {@link DatabaseServer.uri} tells of a failure. Resolves when
   * the start has begun, in a thread of its own.
   */
  async prepare(): Promise<void> {
    this.uri().catch(() => undefined);
    if (this.isEmbedded) await embeddedMongodb().catch(() => undefined);
  }

  /**
   * The connection string, without a read preference; if none is given, that of the embedded default, which runs from the first call on. A start that
   * failed is tried again at the next call.
   *
   * @throws DamagedDataError if the files of the embedded default are damaged
   * @throws NoEmbeddedDatabaseError if its package is not installed
   */
  async uri(): Promise<string> {
    if ('uri' in this.options) return readingFromPrimary(this.options.uri);
    this.embedded ??= this.startEmbedded(this.options);
    try {
      return (await this.embedded).uri + EMBEDDED_DATABASE;
    } catch (error) {
      this.embedded = undefined;
      if (error instanceof NoEmbeddedDatabaseError) throw error;
      const { isDamage } = await embeddedMongodb();
      throw isDamage(error) ? new DamagedDataError((error as Error).message, { cause: error }) : error;
    }
  }

  /** Whether the server may have ended with another process, so that this one can run it. */
  get canTakeOver(): boolean {
    return 'embeddedDir' in this.options;
  }

  /**
   * Runs the embedded default if the process that ran it has ended; its address stays the same. Does nothing while a process
   * runs it, or if a MongoDB is named.
   */
  async takeOver(): Promise<void> {
    if ('embeddedDir' in this.options) await this.startEmbedded(this.options);
  }

  /** Ends the embedded default if this process runs it. */
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

/** The connection string without a read preference: a secondary may not have yet what a client was told is stored. */
function readingFromPrimary(uri: string): string {
  const [address = uri, options] = uri.split('?', 2);
  if (options === undefined) return uri;
  const kept = options.split('&').filter((option) => !READ_FROM.test(option));
  return `${address}?${kept.join('&')}`;
}

/** The package of the embedded default. Loaded only if it is used: an application with a MongoDB goes without it. */
async function embeddedMongodb() {
  try {
    return await import('embedded-mongodb');
  } catch (error) {
    if (!/^Cannot find (?:package|module) 'embedded-mongodb'/.test((error as Error).message)) throw error;
    throw new NoEmbeddedDatabaseError(
      'The embedded database is not installed. Install the package embedded-mongodb, or name a MongoDB by its URI.',
      { cause: error },
    );
  }
}
