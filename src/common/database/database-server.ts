import { type EmbeddedMongodb, startEmbeddedMongodb } from 'embedded-mongodb';

/**
 * The database to use: a MongoDB by its connection string, the embedded default by the folder of its files, or the embedded
 * default in memory, for tests.
 */
export type DatabaseOptions = { uri: string } | { embeddedDir: string } | { memory: true };

/** Name of the database in the embedded default. */
const EMBEDDED_DATABASE = 'posts-and-todos';

/** The server that the connection goes to: the MongoDB that is named, or the embedded default, which it runs. */
export class DatabaseServer {
  private embedded?: Promise<EmbeddedMongodb>;

  constructor(private readonly options: DatabaseOptions) {}

  /** Whether it is the embedded default, which survives the end of its process by itself. */
  get isEmbedded(): boolean {
    return !('uri' in this.options);
  }

  /** Starts the embedded default in the background, where it is used; {@link DatabaseServer.uri} tells of a failure. */
  prepare(): void {
    this.uri().catch(() => undefined);
  }

  /**
   * The connection string; where none is given, that of the embedded default, which runs from the first call on. A start that
   * failed is tried again at the next call.
   */
  async uri(): Promise<string> {
    if ('uri' in this.options) return this.options.uri;
    this.embedded ??= startEmbeddedMongodb(
      'memory' in this.options ? { memory: true } : { dir: this.options.embeddedDir },
    );
    try {
      return (await this.embedded).uri + EMBEDDED_DATABASE;
    } catch (error) {
      this.embedded = undefined;
      throw error;
    }
  }

  /** Ends the embedded default, where this process runs it. */
  async stop(): Promise<void> {
    const embedded = await this.embedded?.catch(() => undefined);
    await embedded?.stop();
  }
}
