import { Writable } from 'node:stream';
import type { DynamicModule, ModuleMetadata } from '@nestjs/common';
import { getConnectionToken } from '@nestjs/mongoose';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import mongoose from 'mongoose';
import { AppModule } from '../../src/app.module.js';
import { type ApiDescription, type AppOptions, createApp } from '../../src/app.setup.js';
import { CRUD_CONNECTION, DatabaseServer } from '../../src/common/database/index.js';
import { createLog } from '../../src/common/server/index.js';
import { Metrics } from '../../src/common/metrics/index.js';
import { type Environment, readEnvironment, type Variables } from '../../src/config/index.js';
import { ApiDocument } from './api-document.js';
import { eventually } from './eventually.js';
import { freshDatabaseUri } from './mongodb.js';
import { sendTo, type TestRequest, type TestResponse } from './send-to.js';
import { TEST_SECRET } from './tenants.js';

export type { TestRequest, TestResponse };

/** A running service on a database of its own, and a client that checks every response against its OpenAPI document. */
export class TestApp {
  private document?: ApiDocument;

  constructor(
    readonly app: NestFastifyApplication,
    readonly url: string,
    /** The service's own database, to look behind it. */
    readonly database: mongoose.mongo.Db,
    /** Every line of the log so far, parsed. */
    readonly logLines: Record<string, unknown>[],
    private readonly client: mongoose.mongo.MongoClient,
    /** Collections that may have records; any where others write to the database, too. */
    private readonly written?: ReadonlySet<string>,
  ) {}

  /** The connection of the service, to watch what it sends. */
  get connection(): mongoose.Connection {
    return this.app.get(getConnectionToken(CRUD_CONNECTION), { strict: false });
  }

  /** Sends one request; `path` may carry a query. */
  async request(method: string, path: string, sent?: TestRequest): Promise<TestResponse> {
    const response = await sendTo(this.url, method, path, sent);
    const [pathname = path, query = ''] = path.split('?');
    (await this.apiDocument()).check({ method, path: pathname, query, ...response });
    return response;
  }

  get = (path: string, request?: TestRequest) => this.request('GET', path, request);
  post = (path: string, body: unknown, request?: TestRequest) =>
    this.request('POST', path, { ...request, body });
  patch = (path: string, body: unknown, request?: TestRequest) =>
    this.request('PATCH', path, { ...request, body });
  del = (path: string, request?: TestRequest) => this.request('DELETE', path, request);

  /** Creates a record, and gives back its identifier. */
  async create(path: string, body: unknown, token?: string): Promise<string> {
    const response = await this.post(path, body, { token });
    expect(response.status).toBe(201);
    return response.body._id as string;
  }

  /** Empties every collection, so that tests do not see each other's records. */
  async empty(): Promise<void> {
    const collections = this.written
      ? [...this.written].map((name) => this.database.collection(name))
      : await this.database.collections();
    await Promise.all(collections.map((collection) => collection.deleteMany({})));
  }

  /** Stops the service, whatever its clients still wait for, and removes its database. */
  async close(): Promise<void> {
    this.app.getHttpServer().closeAllConnections();
    await this.app.close();
    await this.database.dropDatabase();
    await this.client.close();
  }

  /** So that the service of a single test can be declared with `await using`. */
  [Symbol.asyncDispose] = () => this.close();

  /** Stops the service and leaves its database to another one. */
  async leave(): Promise<void> {
    await this.app.close();
    await this.client.close();
  }

  private async apiDocument(): Promise<ApiDocument> {
    this.document ??= await eventually(async () => {
      // Compressing it would take longer than sending it.
      const headers = { 'Accept-Encoding': 'identity' };
      const response = await fetch(`${this.url}/docs/openapi.json`, { headers });
      // A process that is overloaded refuses the document as well.
      expect(response.status).toBe(200);
      return ApiDocument.of(await response.text());
    });
    return this.document;
  }
}

/** What a test wants otherwise than the service's defaults. */
export interface TestAppOptions {
  env?: Variables;
  /** Root module in the place of the service's own. */
  root?: (environment: Environment, database: DatabaseServer) => DynamicModule;
  /** What the explorer says. @default that of the service */
  api?: ApiDescription;
  /** How long clients may take, and how many lists are read at a time. */
  limits?: AppOptions['limits'];
}

/** The root module of the service with what a test adds to it. */
export function serviceWith({ imports = [], ...added }: ModuleMetadata): typeof AppModule.forRoot {
  class ServiceWithMore {}
  return (environment, database) => ({
    module: ServiceWithMore,
    imports: [AppModule.forRoot(environment, database), ...imports],
    ...added,
  });
}

/** Starts a service on a free port and a database of its own. */
export async function createTestApp(options: TestAppOptions = {}): Promise<TestApp> {
  const { env = {}, root = AppModule.forRoot, api, limits } = options;
  const uri = env.MONGODB_URI ?? freshDatabaseUri();
  const environment = readEnvironment({
    NODE_ENV: 'test',
    PORT: '0',
    JWT_SECRET: env.JWT_JWKS_URL ? undefined : TEST_SECRET,
    // A machine that is busy with other tests is no overload.
    MAX_EVENT_LOOP_DELAY_MS: '0',
    MAX_WAIT_MS: '4000',
    ...env,
    MONGODB_URI: uri,
  });
  const logLines: Record<string, unknown>[] = [];
  const log = createLog(environment.logLevel, collecting(logLines));
  const module = root(environment, new DatabaseServer({ uri }));
  const app = await createApp(module, environment, { log, api, limits });
  const client = new mongoose.mongo.MongoClient(uri);
  const written = env.MONGODB_URI === undefined ? new Set<string>() : undefined;
  if (written) {
    noteWrites(client, written);
    const service: mongoose.Connection = app.get(getConnectionToken(CRUD_CONNECTION), { strict: false });
    service.once('connected', () => noteWrites(service.getClient(), written));
  }
  try {
    await app.listen(environment.port, environment.host);
  } catch (error) {
    await app.close();
    throw error;
  }
  // Tests compare metrics of one second.
  if (environment.metrics === 'on') app.get(Metrics, { strict: false }).sharedMs = 0;
  return new TestApp(app, await app.getUrl(), client.db(), logLines, client, written);
}

/** Notes the collections that a client writes to: to empty all before each test takes longer than many a test. */
function noteWrites(client: mongoose.mongo.MongoClient, written: Set<string>): void {
  client.on('commandStarted', ({ commandName, command }) => {
    const makesRecords = ['insert', 'update', 'findAndModify'].includes(commandName);
    if (makesRecords) written.add(command[commandName] as string);
  });
}

/** The service of the tests around: started before them, and closed after them. */
export function useApp(start: () => Promise<TestApp>): TestApp {
  const app = Object.create(TestApp.prototype) as TestApp;
  beforeAll(async () => void Object.assign(app, await start()));
  afterAll(() => app.close());
  return app;
}

/** `createTestApp()` for the tests around. */
export const useTestApp = (options?: TestAppOptions) => useApp(() => createTestApp(options));

/** Takes the lines of a log, parsed. */
export function collecting(lines: Record<string, unknown>[]): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      for (const line of chunk.toString().split('\n').filter(Boolean)) lines.push(JSON.parse(line) as never);
      done();
    },
  });
}
