import 'reflect-metadata';
import { join } from 'node:path';
import { type DatabaseOptions, DatabaseServer } from './common/database/database-server.js';
import { ConfigurationError } from './config/configuration.error.js';
import { dataDirOf } from './config/data-dir.js';
import { type Environment, readEnvironment } from './config/environment.js';

/** Why the server may not listen, by Node's code of the error. */
const LISTEN_FAILURES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'PORT is in use by another process. Stop it, or set PORT to a free one.',
  EACCES: 'PORT must be one that this user may listen on, such as 3000.',
  EADDRNOTAVAIL: 'HOST must be an address of this machine, such as 127.0.0.1 or 0.0.0.0.',
  ENOTFOUND: 'HOST must be an address of this machine, such as 127.0.0.1 or 0.0.0.0.',
};

try {
  const environment = readEnvironment(process.env);
  const database = new DatabaseServer(databaseOf(environment));
  // The embedded default starts in its own thread while this one loads the application, which takes longer.
  database.prepare();
  const { Logger } = await import('@nestjs/common');
  const { AppModule } = await import('./app.module.js');
  const { createApp } = await import('./app.setup.js');
  const { shutDownOnSignal } = await import('./app.shutdown.js');
  const app = await createApp(AppModule.forRoot(environment, database), environment);
  shutDownOnSignal(app);
  await app.listen(environment.port, environment.host);
  new Logger('Main').log(`Listening on ${await app.getUrl()}; the explorer is at ${await app.getUrl()}/docs`);
} catch (error) {
  process.stderr.write(`${error instanceof ConfigurationError ? error.message : startFailure(error)}\n`);
  process.exit(1);
}

function databaseOf(environment: Environment): DatabaseOptions {
  const { mongodbUri } = environment;
  return mongodbUri ? { uri: mongodbUri } : { embeddedDir: join(dataDirOf(environment), 'mongodb') };
}

function startFailure(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  const known = LISTEN_FAILURES[code];
  if (known) return known;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
