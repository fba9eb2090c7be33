import { type DynamicModule, Injectable, Logger, Module } from '@nestjs/common';
import type { OnApplicationShutdown, Type } from '@nestjs/common';
import { getConnectionToken } from '@nestjs/mongoose';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { Connection } from 'mongoose';
import {
  CRUD_CONNECTION,
  createCrudApp,
  CrudModule,
  type CrudRootAsyncOptions,
  currentTenant,
  IsIdentifier,
  shutDownOnSignal,
} from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { freshDatabaseUri } from '../support/mongodb.js';
import { feature } from '../support/resource.js';
import { ACME, TEST_SECRET, tokenOf } from '../support/tenants.js';

const isolationFields = { all: { tenant: currentTenant } };
const notes = () => feature({ name: 'notes', kept: { tenant: IsIdentifier() }, isolationFields });

/** The settings of an application. */
@Injectable()
class Settings {
  readonly uri = freshDatabaseUri();
}
@Module({ providers: [Settings], exports: [Settings] })
class SettingsModule {}

class ShopModule {}
const apps: NestFastifyApplication[] = [];
/** Closed after the test, also if that fails. */
async function create(...imports: (DynamicModule | Type)[]): Promise<NestFastifyApplication> {
  const app = await createCrudApp({ module: ShopModule, imports }, { logLevel: 'silent' });
  apps.push(app);
  return app;
}
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

const root = () => CrudModule.forRoot({ database: { uri: freshDatabaseUri() } });

describe('CrudModule.forRootAsync', () => {
  it('sets up what the resources share from injected providers, and calls its factory once', async () => {
    const tokens = { secret: TEST_SECRET, tenantClaim: 'org' };
    const useFactory = jest.fn(({ uri }: Settings) => Promise.resolve({ database: { uri }, tokens }));
    const imports = [SettingsModule];
    const app = await create(CrudModule.forRootAsync({ imports, inject: [Settings], useFactory }), notes());
    await app.listen(0);
    expect(useFactory).toHaveBeenCalledTimes(1);
    const url = `${await app.getUrl()}/notes/count`;
    const statusOf = async (claims: Record<string, unknown>) =>
      (await fetch(url, { headers: { Authorization: `Bearer ${tokenOf(undefined, claims)}` } })).status;
    expect([await statusOf({ org: ACME }), await statusOf({ tenant: ACME })]).toEqual([200, 403]);
  });

  /** Factories by what they stop the start with. */
  const wrong: Record<string, CrudRootAsyncOptions['useFactory']> = {
    'CrudModule.forRootAsync: database.uri must be a mongodb:// or mongodb+srv:// URI that names a database, such as mongodb://127.0.0.1:27017/shop.':
      () => ({ database: { uri: 'mongodb://127.0.0.1:27017' } }),
    "CrudModule.forRootAsync: database.name must be letters, digits, _ and -, such as 'app'.": () => ({
      database: { embeddedDir: 'data', name: '' },
    }),
    'CrudModule.forRootAsync: tokens.secret must have at least 32 bytes.': () =>
      Promise.resolve({ database: { memory: true }, tokens: { secret: 'short' } }),
    'The settings cannot be read.': () => Promise.reject(new Error('The settings cannot be read.')),
  };
  it.each(Object.entries(wrong))('stops the start with: %s', async (problem, useFactory) => {
    await expect(create(CrudModule.forRootAsync({ useFactory }), notes())).rejects.toThrow(problem);
  });
});

it('has connections to the embedded database for short requests beside a hundred slow ones', async () => {
  const app = await create(CrudModule.forRoot({ database: { memory: true } }));
  await app.init();
  const { options } = app.get<Connection>(getConnectionToken(CRUD_CONNECTION), { strict: false }).getClient();
  expect(options.maxPoolSize).toBeGreaterThanOrEqual(200);
  expect(options.dbName).toBe('app');
});

describe('shutDownOnSignal', () => {
  class OwnModule implements OnApplicationShutdown {
    signal?: string;
    onApplicationShutdown(signal?: string) {
      this.signal = signal;
    }
  }

  afterEach(() => {
    jest.restoreAllMocks();
    for (const signal of ['SIGTERM', 'SIGINT']) process.removeAllListeners(signal);
  });

  it.each<[string, NodeJS.Signals, number, () => Promise<void>]>([
    ['0', 'SIGTERM', 0, () => Promise.resolve()],
    ['1, if the other work fails', 'SIGINT', 1, () => Promise.reject(new Error('stuck'))],
  ])(
    'ends other work, calls the hooks of the application with the signal, also without HealthModule, and then ends with %s',
    async (_code, signal, code, work) => {
      const app = await create(root(), OwnModule);
      const own = app.get(OwnModule);
      const ends: unknown[] = [];
      jest.spyOn(process, 'exit').mockImplementation((code): never => ends.push([code, own.signal]) as never);
      const meanwhile = jest.fn(work);
      const logged = jest.spyOn(Logger.prototype, 'error');
      shutDownOnSignal(app, { meanwhile });
      await app.listen(0);
      for (const _ of ['first', 'again']) process.emit(signal, signal);
      await eventually(() => expect(ends).toEqual([[code, signal]]));
      expect(meanwhile).toHaveBeenCalledTimes(1);
      // Nothing but the failure of the other work.
      expect(logged).toHaveBeenCalledTimes(code);
    },
  );

  it('reports that it is called too late', async () => {
    const app = await create(root());
    await app.listen(0);
    expect(() => shutDownOnSignal(app)).toThrow('shutDownOnSignal(app): call it before app.listen().');
  });
});
