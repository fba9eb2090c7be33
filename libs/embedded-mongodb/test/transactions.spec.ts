import { once } from 'node:events';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClientSession, type Collection, type Document, MongoClient } from 'mongodb';
import { Store } from '../src/storage/store.js';
import { startTestServer, type TestServer } from './support/server.js';

let server: TestServer;
let accounts: Collection<Document>;
let session: ClientSession;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

beforeEach(async () => {
  accounts = await server.filled([
    { _id: 'a' as never, balance: 100 },
    { _id: 'b' as never, balance: 0 },
  ]);
  await accounts.createIndex({ balance: 1 });
  session = server.client.startSession();
});
afterEach(() => session.endSession());

async function transfer(amount: number, options: { session: ClientSession }): Promise<void> {
  await accounts.updateOne({ _id: 'a' as never }, { $inc: { balance: -amount } }, options);
  await accounts.updateOne({ _id: 'b' as never }, { $inc: { balance: amount } }, options);
}

async function balances(): Promise<unknown[]> {
  return (await accounts.find().sort({ _id: 1 }).toArray()).map(({ balance }) => balance as unknown);
}

/** The code of the error that a promise is rejected with. */
async function codeOf(work: Promise<unknown>): Promise<unknown> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return (error as { code?: unknown } | undefined)?.code;
}

describe('a transaction', () => {
  it('reads what it has written, and shows all of it at once', async () => {
    session.startTransaction();
    await transfer(30, { session });
    expect(await accounts.findOne({ balance: 30 }, { session })).toEqual({ _id: 'b', balance: 30 });
    const seen = balances();
    await transfer(20, { session });
    await session.commitTransaction();
    expect(await seen).toEqual([50, 50]);
  });

  it('leaves nothing behind when it is aborted: no document, index entry, count or collection', async () => {
    const other = server.database.collection('made-inside');
    session.startTransaction();
    await transfer(30, { session });
    await accounts.insertOne({ balance: 7 }, { session });
    await accounts.deleteOne({ _id: 'b' as never }, { session });
    await other.insertOne({}, { session });
    await session.abortTransaction();
    expect(await balances()).toEqual([100, 0]);
    expect(await accounts.find({ balance: { $lt: 100 } }).toArray()).toEqual([{ _id: 'b', balance: 0 }]);
    expect(await accounts.estimatedDocumentCount()).toBe(2);
    expect(await server.database.listCollections({ name: 'made-inside' }).toArray()).toEqual([]);
  });

  it('ends with a statement that fails', async () => {
    session.startTransaction();
    await transfer(30, { session });
    expect(await codeOf(accounts.insertOne({ _id: 'a' as never }, { session }))).toBe(11000);
    expect(await codeOf(accounts.findOne({}, { session }))).toBe(251);
    await session.abortTransaction();
    expect(await balances()).toEqual([100, 0]);
  });

  it('contains documents and nothing else', async () => {
    session.startTransaction();
    expect(await codeOf(server.database.createCollection('inside', { session }))).toBe(263);
    await session.abortTransaction();
    session.startTransaction();
    expect(await codeOf(server.database.command({ count: accounts.collectionName }, { session }))).toBe(263);
    await session.abortTransaction();
  });

  it('may be committed again, but not one that is not there', async () => {
    session.startTransaction();
    await transfer(30, { session });
    await session.commitTransaction();
    await session.commitTransaction();
    expect(await balances()).toEqual([70, 30]);
    const { id } = session.serverSession;
    const command = { txnNumber: 77n, autocommit: false, lsid: id };
    const error = server.client.db('admin').command({ commitTransaction: 1, ...command });
    await expect(error).rejects.toMatchObject({ code: 251, errorLabels: ['TransientTransactionError'] });
  });

  it('takes its statements one after another when they arrive at once', async () => {
    session.startTransaction();
    await accounts.findOne({}, { session });
    await Promise.all(Array.from({ length: 20 }, () => transfer(1, { session })));
    await session.commitTransaction();
    expect(await balances()).toEqual([80, 20]);
  });

  it('is too large with more than 64 MiB of changes, and is undone', async () => {
    const large = server.database.collection('large');
    const text = 'x'.repeat(15 << 20);
    for (let i = 0; i < 5; i++) await large.insertOne({ text });
    session.startTransaction();
    await transfer(30, { session });
    // By one command: a transaction may not be open for long.
    expect(await codeOf(large.updateMany({}, { $set: { seen: true } }, { session }))).toBe(257);
    await session.abortTransaction();
    expect(await balances()).toEqual([100, 0]);
  });
});

describe('everybody else', () => {
  it('makes transactions of many clients one after another', async () => {
    const one = async () => {
      const own = server.client.startSession();
      await own.withTransaction(async () => {
        const from = await accounts.findOne({ _id: 'a' as never }, { session: own });
        await accounts.updateOne(
          { _id: 'a' as never },
          { $set: { balance: (from?.balance as number) - 1 } },
          { session: own },
        );
        await accounts.updateOne({ _id: 'b' as never }, { $inc: { balance: 1 } }, { session: own });
      });
      await own.endSession();
    };
    await Promise.all(Array.from({ length: 50 }, one));
    expect(await balances()).toEqual([50, 50]);
  });

  it('waits no longer than the time limit of the command', async () => {
    session.startTransaction();
    await transfer(30, { session });
    expect(await codeOf(accounts.findOne({}, { maxTimeMS: 20 }))).toBe(50);
    await session.commitTransaction();
    expect(await balances()).toEqual([70, 30]);
  });

  it('goes on when the client of a transaction has gone', async () => {
    const client = new MongoClient(`mongodb://127.0.0.1:${server.port}/`);
    const own = client.startSession();
    own.startTransaction();
    const collection = client.db('test').collection(accounts.collectionName);
    await collection.updateOne({ _id: 'a' as never }, { $inc: { balance: -1 } }, { session: own });
    const seen = balances();
    await client.close(true);
    expect(await seen).toEqual([100, 0]);
  });

  // By commands of its own: the driver aborts nothing before the first statement is answered.
  it.each<[string, (client: MongoClient, run: (command: Document) => Promise<unknown>) => Promise<unknown>]>([
    ['whose client has gone', (client) => client.close(true)],
    ['that is aborted', (_client, run) => codeOf(run({ abortTransaction: 1 }))],
  ])('goes on when a transaction waits to begin %s', async (_, abandon) => {
    const client = new MongoClient(`mongodb://127.0.0.1:${server.port}/`, { monitorCommands: true });
    await client.connect();
    const sent = once(client, 'commandStarted');
    const own = client.startSession();
    const run = (command: Document): Promise<unknown> =>
      client.db('test').command({ ...command, txnNumber: 0n, autocommit: false }, { session: own });
    session.startTransaction();
    await transfer(30, { session });
    const updates = [{ q: {}, u: { $set: { balance: 7 } } }];
    const begins = codeOf(run({ update: accounts.collectionName, updates, startTransaction: true }));
    await sent;
    await client.db('admin').command({ hello: 1 });
    await abandon(client, run);
    await begins;
    await client.close(true);
    await session.commitTransaction();
    expect(await accounts.find({}, { maxTimeMS: 1_000 }).toArray()).toMatchObject([
      { balance: 70 },
      { balance: 30 },
    ]);
  });

  it('goes on when a transaction has been open for too long', async () => {
    const hasty = await startTestServer({ transactionLifetimeMs: 20 });
    const own = hasty.client.startSession();
    const items = await hasty.filled([{ n: 1 }]);
    own.startTransaction();
    await items.insertOne({ n: 2 }, { session: own });
    expect(await items.find({}, { projection: { _id: 0 } }).toArray()).toEqual([{ n: 1 }]);
    expect(await codeOf(own.commitTransaction())).toBe(251);
    await own.endSession();
    await hasty.stop();
  });
});

it('is in the files as a whole, or not at all', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'transactions-'));
  const store = Store.open(join(folder, 'store'));
  const copied = async (name: string): Promise<(string | undefined)[]> => {
    cpSync(join(folder, 'store'), join(folder, name), { recursive: true });
    const copy = Store.open(join(folder, name));
    const values = ['one', 'two'].map((key) => copy.get(Buffer.from(key))?.toString());
    await copy.close();
    return values;
  };
  store.hold();
  await store.write(() => store.put(Buffer.from('one'), Buffer.from('1')));
  expect(await copied('before')).toEqual([undefined, undefined]);
  await store.write(() => store.put(Buffer.from('two'), Buffer.from('2')));
  await store.release();
  expect(await copied('after')).toEqual(['1', '2']);
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});
