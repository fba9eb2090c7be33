/** @mongodb */
import { CRUD_CONNECTION } from '../../src/common/database/index.js';
import { Readable } from 'node:stream';
import { Controller, Get, Injectable, Module, Param, StreamableFile } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { InjectConnection } from '@nestjs/mongoose';
import mongoose, { type Connection } from 'mongoose';
import { CrudModule } from '../../src/common/crud/index.js';
import { describeError } from '../../src/common/errors/index.js';
import { IsListOf, IsNested, IsNumber, IsText, schemaOf } from '../../src/common/fields/index.js';
import { eventually } from '../support/eventually.js';
import { fault } from '../support/faults.js';
import { feature, resource } from '../support/resource.js';
import { useResourceApp } from '../support/resource-app.js';
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
    const raw = await indexed(db, 'raw', { secret: 1 }, { unique: true });
    await raw.deleteMany({});
    await raw.insertOne({ secret: CANARY });
    await raw.insertOne({ secret: CANARY });
  },
  duplicates: ({ db }) => collection(db).insertMany([{ secret: CANARY }, { secret: CANARY }]),
  bulk: ({ db }) => {
    const insert = { insertOne: { document: { secret: CANARY } } };
    return collection(db).bulkWrite([insert, structuredClone(insert)]);
  },
  'unknown operator': ({ db }) => collection(db).updateOne({}, { $unknown: { a: CANARY } } as never),
  'wrong type': async ({ db }) => {
    await collection(db).insertOne({ secret: 1, s: CANARY });
    await collection(db).updateMany({}, { $inc: { s: 1 } });
  },
  'unknown command': ({ db }) => db?.command({ [CANARY]: 1 }),
  'parallel arrays': async ({ db }) => {
    const parallel = await indexed(db, 'parallel', { a: 1, b: 1 });
    await parallel.insertOne({ a: [CANARY, 1], b: [CANARY, 2] });
  },
  validator: async ({ db }) => {
    const validator = { $jsonSchema: { properties: { a: { bsonType: 'int' } } } };
    await db?.createCollection('strict', { validator });
    await collection(db, 'strict').insertOne({ a: CANARY });
  },
  place: async ({ db }) => {
    const places = await indexed(db, 'places', { at: '2dsphere' });
    await places.insertOne({ at: { type: 'Point', coordinates: [0, 123] }, address: CANARY });
  },
  'too large': ({ db }) => collection(db).insertOne({ secret: CANARY.repeat(1_200_000) }),
  'key with a null': ({ db }) => collection(db).insertOne({ [`${CANARY}\0`]: 1 }),
  decimal: () => mongoose.Types.Decimal128.fromString(CANARY),
  cast: (connection) => rawOf(connection).findOne({ n: CANARY }).exec(),
  'cast of an entry': (connection) => {
    const update = { $push: { list: { n: CANARY } } };
    return rawOf(connection).updateOne({}, update).exec();
  },
  'name of a map': (connection) => rawOf(connection).create({ map: { [`${CANARY}.x`]: 1 } }),
  validation: (connection) =>
    new (rawOf(connection))({ secret: CANARY, n: CANARY, list: [{ n: CANARY }] }).validate(),
  'not found': (connection) => {
    const filter = { secret: `${CANARY}x` };
    return rawOf(connection).findOne(filter).orFail().exec();
  },
  json: () => JSON.parse(CANARY),
  'a cause': (connection) => wrapped(FAILING.duplicate?.(connection)),
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

/** A collection with an index. */
async function indexed(
  db: Db,
  name: string,
  keys: Record<string, 1 | '2dsphere'>,
  options?: { unique: true },
) {
  await db?.createCollection(name).catch(() => undefined);
  await collection(db, name).createIndex(keys, options);
  return collection(db, name);
}

const rawOf = (connection: Connection): mongoose.Model<Record<string, unknown>> =>
  (connection.models.Raw as never) ?? connection.model('Raw', rawSchema, 'raw');

async function wrapped(work: unknown): Promise<void> {
  throw new Error('Wrapped', { cause: new Error('Twice', { cause: await failureOf(() => work) }) });
}

async function failureOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return error;
  }
}

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

@Module({ controllers: [FailingController] })
class FailingModule {}

describe('what the log has of an error with a record', () => {
  const app = useResourceApp(FailingModule, feature({ name: 'letters', hooks: LetterHooks }));
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

const shops = resource({
  name: 'shops',
  fields: { address: IsText({ max: 100 }), place: IsNested(() => Point, { optional: true }) },
  bulk: true,
});

describe('an impossible place', () => {
  const values = { place: { type: 'Point', coordinates: [10, 123] } };
  const wrongPlace = fault(
    '/place',
    'must be a place with a longitude from -180 to 180 and a latitude from -90 to 90, in that order.',
  );
  const schema = schemaOf(shops.entity).index({ place: '2dsphere' });
  const app = useResourceApp(CrudModule.forFeature({ ...shops, schema }));

  it('which the database refuses, is a 400', async () => {
    // The embedded database has no indexes of places, and says so.
    if (/not supported by the embedded server/.test(JSON.stringify(app.logLines))) return;
    const address = CANARY;
    const { body } = await app.post('/shops', { address });
    const wrong = { create: { address, ...values } };
    const operations = [wrong, { create: { address } }, wrong];
    const bulk = (await app.post('/shops/bulk', { operations })).body.results as { status: number }[];
    expect(bulk.map(({ status }) => status)).toEqual([400, 201, 400]);
    const problem = { code: 'VALIDATION_FAILED', errors: [wrongPlace] };
    for (const refused of [
      await app.post('/shops', { address, ...values }),
      await app.patch(`/shops/${String(body._id)}`, values),
    ])
      expect(refused).toMatchObject({ status: 400, body: problem });
    expect(bulk[0]).toMatchObject(problem);
    expect(JSON.stringify(app.logLines)).not.toContain(CANARY);
  });
});
