import { type DynamicModule, Module, type Provider } from '@nestjs/common';
import { AppModule } from '../../src/app.module.js';
import { createTestApp, type TestApp } from './test-app.js';

@Module({})
class WithGlobals {}

/** Starts the service with providers of the application's own. */
export const appWith = (providers: Provider[], env = {}): Promise<TestApp> =>
  createTestApp({
    env,
    root: (environment, database): DynamicModule => ({
      module: WithGlobals,
      imports: [AppModule.forRoot(environment, database)],
      providers,
    }),
  });
