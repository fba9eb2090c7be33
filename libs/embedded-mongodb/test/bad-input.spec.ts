import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serialize } from 'bson';
import { MongoClient } from 'mongodb';
import { MongoServer } from '../src/server.js';
import { frame, int32, opMsg, replyTo } from './support/wire.js';

let folder: string;
let server: MongoServer;
let client: MongoClient;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'bad-input-'));
  server = await MongoServer.start({ dir: join(folder, 'lmdb'), port: 0, temporary: true });
  client = new MongoClient(`mongodb://127.0.0.1:${server.port}/`);
});
afterEach(async () => {
  // Whatever came, others are served.
  expect(await client.db('test').command({ ping: 1 })).toMatchObject({ ok: 1 });
});
afterAll(async () => {
  await client.close();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function open(): Promise<Socket> {
  const socket = connect(server.port as number, '127.0.0.1').on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Sends bytes and resolves with what comes back until the server ends the connection. */
async function send(bytes: Uint8Array): Promise<Buffer> {
  const socket = await open();
  const received: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => received.push(chunk));
  const closed = once(socket, 'close');
  socket.write(bytes);
  await closed;
  return Buffer.concat(received);
}

const ping = serialize({ ping: 1, $db: 'test' });
const section = (kind: number, bytes: Uint8Array): Buffer => Buffer.concat([Buffer.from([kind]), bytes]);

/** A document with an embedded document within another, so many levels deep. */
function nested(levels: number): Buffer {
  let inner: Uint8Array = serialize({});
  for (let level = 0; level < levels; level++) {
    const bytes = Buffer.concat([
      int32(inner.length + 8),
      Buffer.from([3, 0x61, 0]),
      inner,
      Buffer.from([0]),
    ]);
    inner = bytes;
  }
  return Buffer.from(inner);
}

describe('bytes that are not a message end the connection', () => {
  it.each([
    ['text', Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')],
    ['random bytes', Buffer.from(Array.from({ length: 4_096 }, (_, i) => (i * 7_919 + 13) % 251))],
    ['a length of zero', frame(2013, [], 0)],
    ['a length below the header', frame(2013, [], 15)],
    ['a negative length', frame(2013, [], -1)],
    ['a length above the limit', frame(2013, [], 48_000_001)],
    ['the largest length there is', frame(2013, [], 0x7fff_ffff)],
    ['an unknown opcode', frame(4_711, [Buffer.alloc(20)])],
    ['a legacy insert', frame(2002, [int32(0), Buffer.from('test.c\0'), ping])],
    ['OP_COMPRESSED', frame(2012, [int32(2013), int32(100), Buffer.from([2]), Buffer.alloc(50)])],
    ['OP_QUERY for a collection', frame(2004, [int32(0), Buffer.from('test.c\0'), int32(0), int32(1), ping])],
    ['OP_QUERY that is cut off', frame(2004, [int32(0), Buffer.from('test.$cmd')])],
    ['a message without a section', frame(2013, [int32(0)])],
    ['a message without flags', frame(2013, [])],
    ['unknown flags', frame(2013, [int32(4), section(0, ping)])],
    ['an unknown section', frame(2013, [int32(0), section(9, ping)])],
    ['two commands in one message', frame(2013, [int32(0), section(0, ping), section(0, ping)])],
    ['a document cut off', frame(2013, [int32(0), section(0, ping.subarray(0, -3))])],
    [
      'a document longer than its message',
      frame(2013, [int32(0), section(0, Buffer.concat([int32(1e9), ping]))]),
    ],
    ['a sequence longer than its message', frame(2013, [int32(0), section(0, ping), section(1, int32(1e9))])],
    ['a sequence of negative length', frame(2013, [int32(0), section(0, ping), section(1, int32(-5))])],
    [
      'a sequence without an end of its name',
      frame(2013, [int32(0), section(1, Buffer.concat([int32(8), Buffer.from('aaaa')]))]),
    ],
  ])('%s', async (_, bytes) => {
    expect((await send(bytes)).length).toBe(0);
  });
});

describe('a malformed command', () => {
  it.each([
    ['that nests too deeply', nested(5_000)],
    ['that nests a little too deeply', nested(300)],
    [
      'with a string that is not UTF-8',
      Buffer.from('\x14\0\0\0\x02ping\0\x04\0\0\0\xff\xfe\xfd\0\0', 'latin1'),
    ],
    ['with an unknown type', Buffer.from('\x0c\0\0\0\x55ping\0\0\0', 'latin1')],
    ['with a string longer than itself', Buffer.from('\x11\0\0\0\x02ping\0\xff\xff\xff\x7f\0\0', 'latin1')],
  ])('%s gets an error or ends the connection', async (_, bytes) => {
    bytes.writeInt32LE(bytes.length);
    const socket = await open();
    const ended = Promise.race([once(socket, 'close').then(() => undefined), replyTo(socket)]);
    socket.write(frame(2013, [int32(0), section(0, bytes)]));
    const reply = await ended;
    if (reply) expect(reply).toMatchObject({ ok: 0 });
    socket.destroy();
  });

  it.each([
    ['no database', { ping: 1 }],
    ['a database that cannot be', { ping: 1, $db: 'a/b' }],
    ['no command', { nothingThatExists: 1, $db: 'test' }],
    ['a document in place of a collection', { find: {}, $db: 'test' }],
    ['an empty command', {}],
    ['a negative time limit', { find: 'c', $db: 'test', maxTimeMS: -1 }],
  ])('%s is refused, and the connection goes on', async (_, command) => {
    const socket = await open();
    socket.write(opMsg(command));
    expect(await replyTo(socket)).toMatchObject({
      ok: 0,
      code: expect.any(Number),
      errmsg: expect.any(String),
    });
    socket.write(opMsg({ ping: 1, $db: 'test' }));
    expect(await replyTo(socket)).toMatchObject({ ok: 1 });
    socket.destroy();
  });

  it('does not store a malformed document', async () => {
    const good = serialize({ _id: 1, text: 'abc' });
    const bad = Buffer.from(good);
    bad[bad.indexOf('abc')] = 0xff;
    const documents = Buffer.concat([
      int32(4 + 'documents\0'.length + bad.length),
      Buffer.from('documents\0'),
      bad,
    ]);
    const socket = await open();
    const ended = Promise.race([once(socket, 'close').then(() => undefined), replyTo(socket)]);
    const command = serialize({ insert: 'malformed', $db: 'test' });
    socket.write(frame(2013, [int32(0), section(0, command), section(1, documents)]));
    const reply = await ended;
    expect(reply?.n ?? 0).toBe(0);
    expect(await client.db('test').collection('malformed').countDocuments()).toBe(0);
    socket.destroy();
  });
});

describe('connections that stall', () => {
  it('use no memory for a length that is only declared', async () => {
    const connected = server.connectionCount;
    const before = process.memoryUsage().rss;
    const sockets = await Promise.all(Array.from({ length: 100 }, open));
    for (const socket of sockets) socket.write(frame(2013, [int32(0)], 47_000_000));
    await client.db('test').command({ ping: 1 });
    expect(process.memoryUsage().rss - before).toBeLessThan(200e6);
    for (const socket of sockets) socket.destroy();
    await eventually(() => server.connectionCount <= connected);
  });

  it('are forgotten when they close', async () => {
    const before = server.connectionCount;
    const sockets = await Promise.all(Array.from({ length: 200 }, open));
    for (const [i, socket] of sockets.entries()) {
      socket.write(opMsg({ ping: 1, $db: 'test' }).subarray(0, i % 30));
    }
    await eventually(() => server.connectionCount >= before + 200);
    for (const socket of sockets) socket.destroy();
    await eventually(() => server.connectionCount <= before);
  });

  it('get their answer however the bytes are divided', async () => {
    const socket = await open();
    for (const byte of opMsg({ ping: 1, $db: 'test' })) socket.write(Buffer.from([byte]));
    expect(await replyTo(socket)).toMatchObject({ ok: 1 });
    socket.destroy();
  });
});

describe('cursors', () => {
  it('cannot be guessed, and are gone after killCursors', async () => {
    const collection = client.db('test').collection('many');
    await collection.insertMany(Array.from({ length: 10 }, (_, i) => ({ i })));
    // Otherwise the driver makes a number of one in a thousand identifiers, which a server would refuse.
    const asLong = { promoteLongs: false };
    const { cursor } = await client.db('test').command({ find: 'many', batchSize: 2 }, asLong);
    const wrong = client.db('test').command({ getMore: cursor.id.add(1), collection: 'many' });
    await expect(wrong).rejects.toMatchObject({ code: 43 });
    await client.db('test').command({ killCursors: 'many', cursors: [cursor.id] });
    const gone = client.db('test').command({ getMore: cursor.id, collection: 'many' });
    await expect(gone).rejects.toMatchObject({ code: 43 });
  });
});

/** Waits until a condition holds; the test's time limit ends the wait. */
async function eventually(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}
