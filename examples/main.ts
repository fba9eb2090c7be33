import 'reflect-metadata';
import { createApp } from '../src/app.setup.js';
import { start } from '../src/start.js';
import { EXAMPLES_API } from './api.js';
import { ExamplesModule } from './examples.module.js';
import { tokenLines } from './tokens.js';

Object.assign(process.env, { DATA_DIR: './data/examples', LOG_LEVEL: 'warn', ...process.env });
await start('PORT', async (environment, database) => {
  const app = await createApp(ExamplesModule.forRoot(environment, database), environment, {
    api: EXAMPLES_API,
  });
  app.enableShutdownHooks();
  await app.listen(environment.port, environment.host);
  const url = await app.getUrl();
  const lines = [`Listening on ${url}; the explorer is at ${url}/docs\n`, ...(await tokenLines(environment))];
  process.stdout.write(`${lines.join('\n')}\n`);
});
