import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { AppModule } from './app.module.js';
import { createApp } from './app.setup.js';
import { shutDownOnSignal } from './app.shutdown.js';
import { ConfigurationError, readEnvironment } from './config/index.js';

try {
  const environment = readEnvironment(process.env);
  const app = await createApp(AppModule.forRoot(environment), environment);
  shutDownOnSignal(app);
  await app.listen(environment.port, environment.host);
  new Logger('Main').log(`Listening on ${await app.getUrl()}; the explorer is at ${await app.getUrl()}/docs`);
} catch (error) {
  process.stderr.write(`${error instanceof ConfigurationError ? error.message : startFailure(error)}\n`);
  process.exit(1);
}

function startFailure(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'EADDRINUSE') {
    return 'PORT is in use by another process. Stop it, or set PORT to a free one.';
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
