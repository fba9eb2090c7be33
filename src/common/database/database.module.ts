import { type DynamicModule, type FactoryProvider, Global, Module } from '@nestjs/common';
import { getConnectionToken } from '@nestjs/mongoose';
import { type Connection, createConnection } from 'mongoose';
import { MetricsModule } from '../metrics/index.js';
import { DatabaseMetrics } from './database-metrics.js';
import { CRUD_CONNECTION, DatabaseServer, SHARED_CONNECTION } from './database-server.js';
import { Database } from './database.js';
import { InstallationKey } from './installation-key.js';

/** The Mongoose connection, under the token that `MongooseModule.forFeature` asks for. */
@Global()
@Module({})
export class DatabaseModule {
  static forRoot(server: Pick<FactoryProvider<DatabaseServer>, 'inject' | 'useFactory'>): DynamicModule {
    return {
      module: DatabaseModule,
      imports: [MetricsModule],
      providers: [
        {
          provide: getConnectionToken(CRUD_CONNECTION),
          inject: [{ token: SHARED_CONNECTION, optional: true }],
          useFactory: createConnectionBeside,
        },
        { provide: DatabaseServer, ...server },
        DatabaseMetrics,
        Database,
        InstallationKey,
      ],
      exports: [getConnectionToken(CRUD_CONNECTION), Database, InstallationKey],
    };
  }
}

/** Models are compiled against it before it is opened. Of a shared connection, it has the client and the database. */
function createConnectionBeside(shared?: Connection): Connection {
  const connection = shared?.useDb(shared.name) ?? createConnection();
  Object.assign(connection.config as object, { autoCreate: false, autoIndex: false, bufferCommands: false });
  return connection;
}
