import { CRUD_CONNECTION } from '../../src/common/database/index.js';
import { Readable } from 'node:stream';
import { Controller, Get, Injectable, Param, StreamableFile } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { InjectConnection } from '@nestjs/mongoose';
import mongoose, { type Connection } from 'mongoose';
import { CrudModule } from '../../src/common/crud/index.js';
import { describeError } from '../../src/common/errors/index.js';
import { IsListOf, IsNested, IsNumber, IsText, schemaOf } from '../../src/common/fields/index.js';
import { eventually } from '../support/eventually.js';
import { fault } from '../support/faults.js';
import { feature, resource } from '../support/resource.js';
import { createResourceApp, useResourceApp } from '../support/resource-app.js';
import { ServiceProcess } from '../support/service-process.js';

/** Part of every record here; no log may have it. */
const CANARY = 'canary-d3b07384';

const rawSchema = new mongoose.Schema({
  secret: { type: String, enum: ['x'] },
  n: Number,
  list: [{ n: Number }],
  map: { type: Map, of: Number },
});

/** Operations that fail with an error whose text or members have the record, by their name. */
const FAILING: Record<string, (connection: Connection) => unknown> = {
  duplicate: async ({ db }) => {
    const raw = collection(db);
    await raw.createIndex({ secret: 1 }, { unique: true });
    await raw.deleteMany({});
    await raw.insertOne({ secret: CANARY });
    await raw.insertOne({ secret: CANARY });
  },
  duplicates: ({ db }) => collection(db).insertMany([{ secret: CANARY }, { secret: CANARY }]),
  'unknown operator': ({ db }) => collection(db).updateOne({}, { $unknown: { a: CANARY } } as never),
  'wrong type': async ({ db }) => {
    await collection(db).insertOne({ secret: 1, s: CANARY });
    await collection(db).updateMany({}, { $inc: { s: 1 } });
  },
  'unknown command': ({ db }) => db?.command({ [CANARY]: 1 }),
  validator: async ({ db }) => {
    const validator = { $jsonSchema: { properties: { a: { bsonType: 'int' } } } };
    await db?.createCollection('strict', { validator });
    await collection(db, 'strict').insertOne({ a: CANARY });
  },
  'too large': ({ db }) => collection(db).insertOne({ secret: CANARY.repeat(1_200_000) }),
  'key with a null': ({ db }) => collection(db).insertOne({ [`${CANARY}\0`]: 1 }),
  decimal: () => mongoose.Types.Decimal128.fromString(CANARY),
  cast: (connection) => rawOf(connection).findOne({ n: CANARY }),
  'cast of an entry': (connection) => rawOf(connection).updateOne({}, { $push: { list: { n: CANARY } } }),
  'name of a map': (connection) => rawOf(connection).create({ map: { [`${CANARY}.x`]: 1 } }),
  validation: (connection) =>
    new (rawOf(connection))({ secret: CANARY, n: CANARY, list: [{ n: CANARY }] }).validate(),
  'not found': (connection) =>
    rawOf(connection)
      .findOne({ secret: `${CANARY}x` })
      .orFail(),
  json: () => JSON.parse(CANARY),
  'a cause': async (connection) => {
    const cause = await failureOf(() => FAILING.duplicate?.(connection));
    throw new Error('Wrapped', { cause: new Error('Twice', { cause }) });
  },
  'several causes': async (connection) => {
    const thrown = ['cast', 'duplicates'].map((name) => failureOf(() => FAILING[name]?.(connection)));
    throw new AggregateError(await Promise.all(thrown), 'Several failed');
  },
  'a record': () => {
    throw { title: CANARY };
  },
};

type Db = Connection['db'];
const collection = (db: Db, name = 'raw') => (db as mongoose.mongo.Db).collection(name);

const rawOf = (connection: Connection): mongoose.Model<Record<string, unknown>> =>
  (connection.models.Raw as never) ?? connection.model('Raw', rawSchema, 'raw');

const failureOf = (work: () => unknown) =>
  Promise.resolve()
    .then(work)
    .catch((error: unknown) => error);

@ApiExcludeController()
@Controller('failing')
class FailingController {
  constructor(@InjectConnection(CRUD_CONNECTION) private readonly connection: Connection) {}

  @Get('streams/:name')
  async stream(@Param('name') name: string) {
    const error = await failureOf(() => FAILING[name]?.(this.connection));
    const source = new Readable({ read: () => undefined });
    source.push('some');
    setImmediate(() => source.destroy(error as Error));
    return new StreamableFile(source);
  }

  @Get(':name')
  async fail(@Param('name') name: string): Promise<string> {
    await FAILING[name]?.(this.connection);
    return 'nothing failed';
  }
}

@Injectable()
class LetterHooks {
  constructor(@InjectConnection(CRUD_CONNECTION) private readonly connection: Connection) {}

  async afterCreate() {
    await FAILING.duplicate?.(this.connection);
  }
}

class FailingModule {}

describe('what the log has of an error with a record', () => {
  const app = useResourceApp(
    { module: FailingModule, controllers: [FailingController] },
    feature({ name: 'letters', hooks: LetterHooks }),
  );
  beforeAll(async () => void (await app.get('/failing/duplicate')));

  const linesSince = (seen: number) => app.logLines.slice(seen);

  it.each(Object.keys(FAILING))('neither its text nor its members: %s', async (name) => {
    const seen = app.logLines.length;
    const { status, text } = await app.get(`/failing/${encodeURIComponent(name)}`);
    expect(status).toBe(500);
    await eventually(() => expect(linesSince(seen)).toHaveLength(2));
    const failure = linesSince(seen).find(({ level }) => level === 'error');
    expect(failure).toMatchObject({ code: 'INTERNAL_ERROR', error: { type: expect.any(String) } });
    expect([text, JSON.stringify(linesSince(seen))].filter((one) => one.includes(CANARY))).toEqual([]);
  });

  it('but its class, code, fields and stack', async () => {
    const seen = app.logLines.length;
    await app.get('/failing/duplicate');
    await app.get('/failing/validation');
    const errors = linesSince(seen).flatMap(({ error }) => error ?? []);
    expect(errors).toEqual([
      expect.objectContaining({
        type: 'MongoServerError',
        message: 'MongoServerError 11000 at secret (its text may quote a record)',
        code: 11_000,
        stack: expect.stringMatching(/^MongoServerError: .+\n {4}at .+/),
      }),
      expect.objectContaining({
        message: expect.stringMatching(
          /^ValidationError at (?=.*secret)(?=.*n)(?=.*list).+ \(its text may quote a record\)$/,
        ),
      }),
    ]);
  });

  it('nothing of it in a stream that breaks off, or a hook that fails', async () => {
    const seen = app.logLines.length;
    const answer = fetch(`${app.url}/failing/streams/duplicate`).then((response) => response.text());
    await expect(answer).rejects.toThrow();
    expect((await app.post('/letters', { text: CANARY })).status).toBe(201);
    await eventually(() => expect(linesSince(seen).filter(({ level }) => level === 'error')).toHaveLength(2));
    expect(JSON.stringify(linesSince(seen))).not.toContain(CANARY);
  });

  it('nothing of it where nobody catches it', async () => {
    const script = `
      import { start } from './dist/start.js';
      await start({ portVariable: 'PORT' }, async () => {
        setImmediate(() => { throw Object.assign(new SyntaxError('${CANARY}'), { record: '${CANARY}' }); });
      });`;
    const env = { MONGODB_URI: 'mongodb://127.0.0.1:1/none' };
    const { code, stderr } = await ServiceProcess.spawn(env, ['--input-type=module', '-e', script]).ended();
    expect([code, JSON.parse(stderr)]).toEqual([1, expect.objectContaining({ type: 'SyntaxError' })]);
    expect(stderr.replace(script, '')).not.toContain(CANARY);
  });

  it('a network failure in its own words', () => {
    const error = new mongoose.mongo.MongoNetworkError('connect ECONNREFUSED 127.0.0.1:1');
    expect(describeError(error)).toMatchObject({ message: 'connect ECONNREFUSED 127.0.0.1:1' });
  });
});

class Point {
  @IsText({ max: 10 }) type!: string;
  @IsListOf(IsNumber(), { max: 2 }) coordinates!: number[];
}

const fields = { address: IsText({ max: 100 }), place: IsNested(() => Point, { optional: true }) };
const shops = resource({ name: 'shops', fields, bulk: true });

it('an impossible place, which the database refuses, is a 400', async () => {
  const schema = schemaOf(shops.entity).index({ place: '2dsphere' });
  await using app = await createResourceApp(CrudModule.forFeature({ ...shops, schema }));
  // The embedded database has no indexes of places, and says so.
  if (/not supported by the embedded server/.test(JSON.stringify(app.logLines))) return;
  const address = CANARY;
  const id = await app.create('/shops', { address });
  const values = { place: { type: 'Point', coordinates: [10, 123] } };
  const wrong = { create: { address, ...values } };
  const operations = [wrong, { create: { address } }, wrong];
  const bulk = (await app.post('/shops/bulk', { operations })).body.results as { status: number }[];
  expect(bulk.map(({ status }) => status)).toEqual([400, 201, 400]);
  const sentence =
    'must be a place with a longitude from -180 to 180 and a latitude from -90 to 90, in that order.';
  const body = { code: 'VALIDATION_FAILED', errors: [fault('/place', sentence)] };
  for (const refused of [await app.post('/shops', wrong.create), await app.patch(`/shops/${id}`, values)])
    expect(refused).toMatchObject({ status: 400, body });
  expect(bulk[0]).toMatchObject(body);
  expect(JSON.stringify(app.logLines)).not.toContain(CANARY);
});
