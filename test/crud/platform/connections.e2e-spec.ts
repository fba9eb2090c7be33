import { Controller, type DynamicModule, Get, type INestApplication, Post } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { getConnectionToken, InjectModel, MongooseModule } from '@nestjs/mongoose';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import mongoose, { type Connection, type Model } from 'mongoose';
import { CrudModule, type CrudRootAsyncOptions, type CrudRootOptions } from '../../../src/index.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { feature } from '../../support/resource.js';
import { sendTo } from '../../support/send-to.js';

const notes = feature({ name: 'notes' });

/** A controller of the application's own, with a model of the same name as the resource. */
@Controller('own')
class OwnController {
  constructor(@InjectModel('Note') private readonly notes: Model<{ own: string }>) {}
  @Post() async create() {
    await this.notes.create({ own: 'of the application' });
    return {};
  }
  @Get() list() {
    return this.notes.find().select({ _id: 0, __v: 0 }).lean();
  }
}

describe('the connections of an application and of the generator', () => {
  let app: INestApplication | undefined;
  afterEach(async () => {
    await app?.close();
    app = undefined;
  });

  /** Has both store a note in their order of imports, and returns what is stored, by the collection. */
  async function stored(theirs: string, imports: DynamicModule[]) {
    const root = { module: class OwnModule {}, imports, controllers: [OwnController] };
    app = await NestFactory.create(root, { logger: false });
    await app.listen(0, '127.0.0.1');
    const url = await app.getUrl();
    const body = { text: 'of the resource' };
    expect((await sendTo(url, 'POST', '/notes', { body })).status).toBe(201);
    expect((await sendTo(url, 'POST', '/own')).status).toBe(201);
    expect((await sendTo(url, 'GET', '/own')).body).toEqual([{ own: 'of the application' }]);
    expect((await sendTo(url, 'GET', '/notes')).body).toEqual([expect.objectContaining(body)]);
    const client = await mongoose.createConnection(theirs).asPromise();
    const [own, generated] = await Promise.all(
      ['own_notes', 'notes'].map((name) => client.collection(name).find().toArray()),
    );
    await client.close();
    return { own, generated };
  }
  const model = { name: 'Note', collection: 'own_notes', schema: new mongoose.Schema({ own: String }) };
  const own = (uri: string) => [MongooseModule.forRoot(uri), MongooseModule.forFeature([model])];

  it.each(['first', 'last'])('stay apart if the application imports its own %s', async (order) => {
    const [ours, theirs] = [freshDatabaseUri(), freshDatabaseUri()];
    const generated = [CrudModule.forRoot({ database: { uri: ours }, connectionName: 'generated' }), notes];
    const imports = order === 'first' ? [...own(theirs), ...generated] : [...generated, ...own(theirs)];
    const found = await stored(theirs, imports);
    expect(found).toEqual({ own: [expect.objectContaining({ own: 'of the application' })], generated: [] });
    expect(app?.get<Connection>(getConnectionToken('generated')).models).toHaveProperty('Note');
  });

  it.each<[string, CrudRootOptions | CrudRootAsyncOptions]>([
    ['options', { connectionName: getConnectionToken() }],
    ['a factory', { connectionName: getConnectionToken(), useFactory: () => ({}) }],
  ])('are one if %s name it, with models of their own', async (_case, options) => {
    const theirs = freshDatabaseUri();
    const made = 'useFactory' in options ? CrudModule.forRootAsync(options) : CrudModule.forRoot(options);
    expect(await stored(theirs, [notes, made, ...own(theirs)])).toEqual({
      own: [expect.objectContaining({ own: 'of the application' })],
      generated: [expect.objectContaining({ text: 'of the resource' })],
    });
    const connection = app?.get<Connection>(getConnectionToken());
    expect(connection?.modelNames()).toEqual(['Note']);
    await app?.close();
    expect(connection?.readyState).toBe(mongoose.ConnectionStates.disconnected);
  });
});

const root = (connectionName?: string) =>
  CrudModule.forRoot({ database: { uri: freshDatabaseUri() }, connectionName });

/** Starts an application in both orders of its imports. */
async function expectNoStart(roots: DynamicModule[], sentence: string) {
  const inner = { module: class InnerModule {}, imports: [notes] };
  const options = { logger: false, abortOnError: false } as const;
  for (const imports of [
    [...roots, inner],
    [inner, notes, ...roots.toReversed()],
  ]) {
    const start = NestFactory.create({ module: class RootModule {}, imports }, options);
    await expect(start).rejects.toThrow(sentence);
  }
}

it.each([
  ['nowhere', []],
  ['2 times', [root(), root()]],
])('an application that imports forRoot %s is told so at its start', async (times, roots) => {
  const sentence = `CrudModule.forRoot is imported ${times}. Import it once, in the root module.`;
  await expectNoStart(roots, sentence);
});

it('an application that imports forRoot twice, without a resource, is told so at its start', async () => {
  const module = { module: class RootModule {}, imports: [root(), root()] };
  const start = NestFactory.create(module, { logger: false, abortOnError: false });
  await expect(start).rejects.toThrow('CrudModule.forRoot is imported 2 times.');
});

it.each(['shop', getConnectionToken()])('a connection by the name %s is of one owner', async (name) => {
  const opened: Connection[] = [];
  const connectionFactory = (connection: Connection) => {
    opened.push(connection);
    return connection;
  };
  const options = { connectionName: name, connectionFactory, lazyConnection: true };
  const theirs = MongooseModule.forRoot(freshDatabaseUri(), options);
  await expectNoStart(
    [root(name), theirs],
    `CrudModule.forRoot: MongooseModule.forRoot has a connection by the connectionName "${name}", too.`,
  );
  for (const connection of opened) await connection.close();
});

it('an application that shares a connection that it does not have is told so at its start', async () => {
  await expectNoStart(
    [CrudModule.forRoot({ connectionName: 'shop' })],
    'CrudModule.forRoot: there is no connection by the connectionName "shop".',
  );
});

it('an application on a server of another kind is told so at its start', async () => {
  class Other extends FastifyAdapter {
    override getType() {
      return 'other';
    }
  }
  const module = { module: class OtherModule {}, imports: [root(), notes] };
  const app = await NestFactory.create(module, new Other(), { logger: false });
  await expect(app.init()).rejects.toThrow(
    'CrudModule runs on Express and on Fastify, and this application runs on other.',
  );
  await app.close();
});
