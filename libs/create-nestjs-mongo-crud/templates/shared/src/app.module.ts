import { type DynamicModule, Module } from '@nestjs/common';
import { CrudModule, type DatabaseOptions, HealthModule } from 'nestjs-mongo-crud';
import { NotesModule } from './notes.module.js';

@Module({ imports: [HealthModule, NotesModule] })
export class AppModule {
  static on(database: DatabaseOptions): DynamicModule {
    const { JWT_SECRET: secret = '' } = process.env;
    return { module: AppModule, imports: [CrudModule.forRoot({ database, tokens: { secret } })] };
  }
}
