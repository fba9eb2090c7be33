import 'reflect-metadata';
import { join } from 'node:path';
import { createApp } from '../src/app.setup.js';
import { DatabaseServer } from '../src/common/database/index.js';
import { dataDirOf, readEnvironment } from '../src/config/index.js';
import { EXAMPLES_API } from './api.js';
import { ExamplesModule } from './examples.module.js';
import { tokenLines } from './tokens.js';

try {
  const environment = readEnvironment({ DATA_DIR: './data/examples', LOG_LEVEL: 'warn', ...process.env });
  const { mongodbUri: uri } = environment;
  const database = new DatabaseServer(
    uri ? { uri } : { embeddedDir: join(dataDirOf(environment), 'mongodb') },
  );
  const app = await createApp(ExamplesModule.forRoot(environment, database), environment, {
    api: EXAMPLES_API,
  });
  app.enableShutdownHooks();
  await app.listen(environment.port, environment.host);
  const url = await app.getUrl();
  const lines = [`Listening on ${url}; the explorer is at ${url}/docs\n`, ...(await tokenLines(environment))];
  process.stdout.write(`${lines.join('\n')}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}
