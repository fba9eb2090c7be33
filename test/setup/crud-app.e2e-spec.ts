import {
  type DynamicModule,
  Injectable,
  Module,
  type OnApplicationShutdown,
  type Type,
} from '@nestjs/common';
import { Schema } from '@nestjs/mongoose';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createLog } from '../../src/common/server/index.js';
import {
  createCrudApp,
  CrudModule,
  type CrudRootAsyncOptions,
  currentTenant,
  HealthModule,
  IsIdentifier,
  IsText,
  shutDownOnSignal,
} from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { freshDatabaseUri } from '../support/mongodb.js';
import { ACME, TEST_SECRET, tokenOf } from '../support/tenants.js';
import { collecting } from '../support/test-app.js';

class NoteInput {
  @IsText({ min: 1, max: 500 }) text!: string;
}
@Schema({ timestamps: true })
class Note extends NoteInput {
  @IsIdentifier() tenant!: string;
}
const notes = () =>
  CrudModule.forFeature({
    entity: Note,
    input: NoteInput,
    name: 'notes',
    tag: 'Notes',
    isolationFields: { all: { tenant: currentTenant } },
  });

/** What an application reads its settings by, such as that of @nestjs/config. */
@Injectable()
class ConfigService {
  private readonly settings: Record<string, string> = {
    MONGODB_URI: freshDatabaseUri(),
    JWT_SECRET: TEST_SECRET,
  };
  get = (name: string) => this.settings[name] ?? '';
}
@Module({ providers: [ConfigService], exports: [ConfigService] })
class ConfigModule {}

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

const root = (uri = freshDatabaseUri()) => CrudModule.forRoot({ database: { uri } });

describe('CrudModule.forRootAsync', () => {
  const settings = (): CrudRootAsyncOptions => ({
    imports: [ConfigModule],
    inject: [ConfigService],
    useFactory: async (config: ConfigService) =>
      Promise.resolve({
        database: { uri: config.get('MONGODB_URI') },
        tokens: { secret: config.get('JWT_SECRET'), tenantClaim: 'org' },
      }),
  });

  it('sets up what the resources share from injected providers', async () => {
    const app = await create(CrudModule.forRootAsync(settings()), notes());
    await app.listen(0);
    const url = `${await app.getUrl()}/notes/count`;
    const statusOf = async (claims: object) =>
      (await fetch(url, { headers: { Authorization: `Bearer ${tokenOf(undefined, { ...claims })}` } }))
        .status;
    expect(await statusOf({ org: ACME })).toBe(200);
    expect(await statusOf({ tenant: ACME })).toBe(403);
  });

  it('calls its factory once, and can do without injection', async () => {
    const useFactory = jest.fn(() => ({ database: { uri: freshDatabaseUri() } }));
    const app = await create(CrudModule.forRootAsync({ useFactory }), notes());
    await app.init();
    expect(useFactory).toHaveBeenCalledTimes(1);
  });

  it.each<[string, CrudRootAsyncOptions['useFactory'], string]>([
    [
      'a database without a name',
      () => ({ database: { uri: 'mongodb://127.0.0.1:27017' } }),
      'database.uri must be a mongodb:// or mongodb+srv:// URI that names a database, such as mongodb://127.0.0.1:27017/shop.',
    ],
    [
      'a short secret',
      () => Promise.resolve({ database: { memory: true }, tokens: { secret: 'short' } }),
      'tokens.secret must have at least 32 bytes.',
    ],
  ])('stops the start for %s', async (_case, useFactory, problem) => {
    await expect(create(CrudModule.forRootAsync({ useFactory }), notes())).rejects.toThrow(
      `CrudModule.forRootAsync: ${problem}`,
    );
  });

  it('fails to start if the factory throws', async () => {
    const useFactory = () => Promise.reject(new Error('The settings cannot be read.'));
    await expect(create(CrudModule.forRootAsync({ useFactory }))).rejects.toThrow(
      'The settings cannot be read.',
    );
  });
});

describe('warnings about tokens', () => {
  it('name the options', async () => {
    const lines: Record<string, unknown>[] = [];
    const log = createLog('warn', collecting(lines));
    const tokens = { jwksUrl: new URL('http://login.example.com/jwks.json') };
    const imports = [CrudModule.forRoot({ database: { uri: freshDatabaseUri() }, tokens })];
    const app = await createCrudApp({ module: ShopModule, imports }, { log });
    await app.close();
    expect(lines.map(({ msg }) => msg)).toEqual([
      'tokens.audience is not set: tokens that were issued for other applications are accepted',
      'tokens.jwksUrl is an http URL: keep the way to the key server out of the reach of others, or use https',
    ]);
  });
});

describe('HealthModule', () => {
  it('distinguishes a process that is alive from one that is ready', async () => {
    const app = await create(root('mongodb://127.0.0.1:1/shop?serverSelectionTimeoutMS=100'), HealthModule);
    await app.listen(0);
    const answer = async (path: string) => {
      const response = await fetch((await app.getUrl()) + path);
      return [response.status, await response.json()];
    };
    expect(await answer('/health/live')).toEqual([200, { status: 'ok' }]);
    expect(await answer('/health/ready')).toMatchObject([503, { code: 'DATABASE_UNAVAILABLE' }]);
  });
});

describe('shutDownOnSignal', () => {
  @Injectable()
  class Own implements OnApplicationShutdown {
    signal?: string;
    onApplicationShutdown(signal?: string) {
      this.signal = signal;
    }
  }
  @Module({ providers: [Own] })
  class OwnModule {}

  afterEach(() => {
    jest.restoreAllMocks();
    for (const signal of ['SIGTERM', 'SIGINT']) process.removeAllListeners(signal);
  });

  it('ends other work, and calls the hooks of the application with the signal, also without HealthModule', async () => {
    const exit = jest.spyOn(process, 'exit').mockReturnValue(undefined as never);
    const app = await create(root(), OwnModule);
    const meanwhile = jest.fn();
    shutDownOnSignal(app, { meanwhile });
    await app.listen(0);
    process.emit('SIGTERM', 'SIGTERM');
    process.emit('SIGTERM', 'SIGTERM');
    await eventually(() => expect(exit.mock.calls).toEqual([[0]]));
    expect(app.get(Own, { strict: false }).signal).toBe('SIGTERM');
    expect(meanwhile).toHaveBeenCalledTimes(1);
  });

  it('closes the application before it ends the process with 1, if the other work fails', async () => {
    const app = await create(root(), OwnModule);
    const own = app.get(Own, { strict: false });
    const ends: unknown[] = [];
    jest.spyOn(process, 'exit').mockImplementation((code): never => ends.push([code, own.signal]) as never);
    shutDownOnSignal(app, { meanwhile: () => Promise.reject(new Error('stuck')) });
    await app.listen(0);
    process.emit('SIGINT', 'SIGINT');
    await eventually(() => expect(ends).toEqual([[1, 'SIGINT']]));
  });

  it('reports that it is called too late', async () => {
    const app = await create(root());
    await app.listen(0);
    expect(() => shutDownOnSignal(app)).toThrow('shutDownOnSignal(app): call it before app.listen().');
  });
});
