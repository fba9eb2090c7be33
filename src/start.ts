import { describeError } from './common/errors/log-text.js';
import {
  type DatabaseOptions,
  DatabaseServer,
  UnusableDatabaseError,
} from './common/database/database-server.js';
import { ConfigurationError, dataDirOf, type Environment, readEnvironment } from './config/environment.js';

/**
 * Starts a process: reads its settings, prepares the database, and runs. If that fails, the process exits
 * with 1 and prints to standard error what to change; for a setting, in one line.
 *
 * @param portVariable name of the variable with the port to listen on
 */
export async function start(
  portVariable: 'PORT' | 'WORKER_PORT',
  run: (environment: Environment, database: DatabaseServer) => Promise<void>,
): Promise<void> {
  // Node's own report has every member of the error, such as the record that a database rejected.
  process.on('uncaughtException', (error) => {
    process.stderr.write(`${JSON.stringify(describeError(error))}\n`);
    process.exit(1);
  });
  try {
    // Nobody can send a token to a worker.
    const environment = readEnvironment(process.env, { verifiesTokens: portVariable === 'PORT' });
    const database = new DatabaseServer(databaseOf(environment));
    // The embedded database starts in its own thread while this one loads the application.
    await database.prepare();
    await run(environment, database);
  } catch (error) {
    const isKnown = error instanceof ConfigurationError || error instanceof UnusableDatabaseError;
    process.stderr.write(`${isKnown ? error.message : startFailure(error, portVariable)}\n`);
    process.exit(1);
  }
}

function databaseOf(environment: Environment): DatabaseOptions {
  const { mongodbUri } = environment;
  if (mongodbUri) return { uri: mongodbUri };
  return { embeddedDir: dataDirOf(environment, 'mongodb'), name: 'posts-and-todos' };
}

function startFailure(error: unknown, portVariable: string): string {
  const { code = '', port } = Object(error) as { code?: string; port?: number };
  const { stack = String(error) } = describeError(error) as { stack?: string };
  return listenFailures(portVariable, port)[code] ?? stack;
}

/** Why a server cannot listen, by Node error code. */
function listenFailures(portVariable: string, port?: number): Readonly<Record<string, string>> {
  const host = 'HOST must be an address of this machine, such as 127.0.0.1 or 0.0.0.0.';
  return {
    EADDRINUSE: `${portVariable} ${port} is in use by another process. Stop it, or set ${portVariable} to a free one.`,
    EACCES: `${portVariable} must be one that this user may listen on, such as 3000.`,
    EADDRNOTAVAIL: host,
    ENOTFOUND: host,
  };
}
