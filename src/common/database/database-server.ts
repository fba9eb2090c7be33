import { type EmbeddedMongodb, startEmbeddedMongodb } from 'embedded-mongodb';

/** Which database is used: a MongoDB by its connection string, or the embedded default by the folder of its files. */
export type DatabaseOptions = { uri: string } | { embeddedDir: string };

/** Name of the database in the embedded default. */
const EMBEDDED_DATABASE = 'posts-and-todos';

/** The server that the connection goes to: the MongoDB that is named, or the embedded default, which it runs. */
export class DatabaseServer {
  private embedded?: EmbeddedMongodb;

  constructor(private readonly options: DatabaseOptions) {}

  /** The connection string; where none is given, that of the embedded default, which is started at the first call. */
  async uri(): Promise<string> {
    if ('uri' in this.options) return this.options.uri;
    this.embedded ??= await startEmbeddedMongodb({ dir: this.options.embeddedDir });
    return this.embedded.uri + EMBEDDED_DATABASE;
  }

  /** Ends the embedded default, where this process runs it. */
  async stop(): Promise<void> {
    await this.embedded?.stop();
  }
}
