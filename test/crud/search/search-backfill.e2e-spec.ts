/**
 * @mongodb
 * @slow
 */
import mongoose from 'mongoose';
import type { Variables } from '../../../src/config/index.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { useServices } from '../../support/service-process.js';
import { createTestApp, type TestApp } from '../../support/test-app.js';

describe('records that were stored without words', () => {
  let uri: string;
  let client: mongoose.mongo.MongoClient;
  let apps: TestApp[];
  const services = useServices();

  beforeEach(() => {
    uri = freshDatabaseUri();
    client = new mongoose.mongo.MongoClient(uri);
    apps = [];
  });
  afterEach(async () => {
    for (const app of apps) await app.leave();
    await client.db().dropDatabase();
    await client.close();
  });

  const todos = () => client.db().collection('todos');
  const marks = () => client.db().collection<{ _id: string } & mongoose.mongo.Document>('search_words');
  const start = async (env: Variables = {}): Promise<TestApp> => {
    const app = await createTestApp({ env: { MONGODB_URI: uri, ...env } });
    apps.push(app);
    return app;
  };
  /** Stops the last service, and starts another one on its database. */
  const restart = async (env?: Variables) => {
    await apps.pop()?.leave();
    return start(env);
  };
  const old = (_: unknown, i: number) => {
    const [at, description] = [new Date(i), i % 2 ? 'odd "one"' : 'even one'];
    return { title: `Old ${i}`, description, createdAt: at, updatedAt: at, __v: 0 };
  };
  const insert = (length: number) => todos().insertMany(Array.from({ length }, old));
  const count = async (app: TestApp, q: string) =>
    (await app.get(`/todos/count?q=${q}`)).body.count as number;
  const mark = () => marks().findOne({ _id: 'todos' });
  const within = (check: () => Promise<void>) => eventually(check, 60_000);
  const finished = () => within(async () => expect(await mark()).toHaveProperty('finished'));

  it('are found once their words are indexed, and are otherwise unchanged', async () => {
    await insert(450);
    const before = await todos().find().toArray();
    const app = await start();
    await within(async () => expect(await count(app, '"odd+one"')).toBe(225));
    await finished();
    expect(await count(app, '449')).toBe(1);
    expect(await todos().find().project({ _words: 0 }).toArray()).toEqual(before);
    const lines = () => app.logLines.map(({ msg }) => msg);
    expect(lines()).toContain('Indexing the words of older todos; until then searches answer 503');
    await eventually(() => expect(lines()).toContain('The words of all todos are indexed'));
  }, 120_000);

  it('are indexed by several processes together, while others change them', async () => {
    await insert(1_500);
    const [{ _id } = { _id: undefined }] = await todos().find().sort({ _id: -1 }).limit(1).toArray();
    const one = await start();
    const other = await start();
    let changes = 0;
    for (let done = false; !done; changes++) {
      expect((await one.patch(`/todos/${String(_id)}`, { title: `New ${changes}` })).status).toBe(200);
      done = (await mark())?.finished !== undefined;
    }
    expect(await count(other, `"new+${changes - 1}"+one`)).toBe(1);
    expect(await count(other, '1499')).toBe(0);
    expect(await count(other, 'one')).toBe(1_500);
  }, 120_000);

  it('are indexed again for another declaration, and after the handwritten form', async () => {
    await insert(10);
    await start();
    await finished();
    await marks().updateOne({ _id: 'todos' }, { $set: { path: '_words.v0' } });
    await todos().updateMany({}, { $unset: { _words: 1 } });
    const second = await restart();
    await within(async () => expect(await count(second, 'even')).toBe(5));
    await finished();
    const handwritten = await restart({ TODOS_API: 'handwritten' });
    await within(async () => expect(await mark()).toBeNull());
    await handwritten.post('/todos', { title: 'By hand' });
    const last = await restart();
    await within(async () => expect(await count(last, '"by+hand"')).toBe(1));
  }, 120_000);

  it('keep searches away until all of them have their words, and nothing else', async () => {
    await insert(10);
    let letThrough: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (letThrough = resolve));
    const { bulkWrite } = mongoose.mongo.Collection.prototype;
    const held = jest.spyOn(mongoose.mongo.Collection.prototype, 'bulkWrite');
    held.mockImplementation(function (this: mongoose.mongo.Collection, ...given) {
      return gate.then(() => bulkWrite.apply(this, given));
    });
    const app = await start();
    const { status, body } = await app.get('/todos?q=even');
    const detail = 'The words of older records are being indexed. Search again later.';
    expect([status, body.code, body.detail]).toEqual([503, 'INDEX_UNAVAILABLE', detail]);
    expect((await app.get('/todos/count?q=even')).status).toBe(503);
    expect((await app.get('/todos')).body).toHaveLength(10);
    letThrough();
    held.mockRestore();
    await finished();
    expect((await app.get('/todos?q=even')).body).toHaveLength(5);
  }, 120_000);

  it('are indexed to the end after a kill in the middle', async () => {
    await insert(6_000);
    // The service answers while the words are being indexed.
    const { service } = await services.start({ MONGODB_URI: uri });
    const indexed = () => todos().countDocuments({ _words: { $exists: true } });
    await within(async () => expect(await indexed()).toBeGreaterThan(0));
    service.signal('SIGKILL');
    await service.ended();
    expect(await mark()).toBeNull();
    // What was indexed is not indexed again.
    const [path = ''] = Object.keys((await todos().findOne({ _words: { $exists: true } }))?._words as object);
    const marked = { $set: { [`_words.${path}`]: [] } };
    const { modifiedCount: done } = await todos().updateMany({ _words: { $exists: true } }, marked);
    expect(done).toBeLessThan(6_000);
    await start();
    await finished();
    expect(await todos().countDocuments({ [`_words.${path}`]: { $size: 0 } })).toBe(done);
    expect(await todos().countDocuments({ _words: { $exists: false } })).toBe(0);
  }, 120_000);
});
