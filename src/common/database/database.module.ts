import { type DynamicModule, type FactoryProvider, Global, Module } from '@nestjs/common';
import { getConnectionToken } from '@nestjs/mongoose';
import { createConnection } from 'mongoose';
import { MetricsModule } from '../metrics/index.js';
import { DatabaseFigures } from './database-figures.js';
import { CRUD_CONNECTION, DatabaseServer } from './database-server.js';
import { Database } from './database.js';
import { InstallationKey } from './installation-key.js';

/** The Mongoose connection, under the token that `MongooseModule.forFeature` asks for. */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot(server: DatabaseServer): DynamicModule {
    return DatabaseModule.forRootAsync({ useFactory: () => server });
  }

  static forRootAsync(server: Pick<FactoryProvider<DatabaseServer>, 'inject' | 'useFactory'>): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [MetricsModule],
      providers: [
        { provide: getConnectionToken(CRUD_CONNECTION), useFactory: createUnopenedConnection },
        { provide: DatabaseServer, ...server },
        DatabaseFigures,
        Database,
        InstallationKey,
      ],
      exports: [getConnectionToken(CRUD_CONNECTION), Database, InstallationKey],
    };
  }
}

/** Models are compiled against it before it is opened. The Database creates collections and indexes. */
function createUnopenedConnection() {
  const connection = createConnection();
  connection.set('autoCreate', false);
  connection.set('autoIndex', false);
  connection.set('bufferCommands', false);
  return connection;
}
