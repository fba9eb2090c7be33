import { type DynamicModule, Global, Module } from '@nestjs/common';
import { Environment } from './environment.js';

/** Makes the {@link Environment} injectable everywhere. */
@Global()
@Module({})
export class ConfigModule {
  static forRoot(environment: Environment): DynamicModule {
    return {
      module: ConfigModule,
      providers: [{ provide: Environment, useValue: environment }],
      exports: [Environment],
    };
  }
}
