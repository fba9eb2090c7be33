import 'reflect-metadata';
import { APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { AppModule } from '../../dist/app.module.js';
import { createApp } from '../../dist/app.setup.js';
import { start } from '../../dist/start.js';

/** A guard and an interceptor for all routes, as most applications have. */
const ENHANCERS = [
  { provide: APP_GUARD, useValue: { canActivate: () => true } },
  { provide: APP_INTERCEPTOR, useValue: { intercept: (_context, next) => next.handle() } },
];

await start('PORT', async (environment, database) => {
  const module = AppModule.forRoot(environment, database);
  const root = { ...module, providers: [...(module.providers ?? []), ...ENHANCERS] };
  const app = await createApp(root, environment);
  await app.listen(environment.port, environment.host);
});
