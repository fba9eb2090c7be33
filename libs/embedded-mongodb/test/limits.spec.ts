import { once } from 'node:events';
import { connect } from 'node:net';
import { type Document, Long, serialize, Timestamp } from 'bson';
import { frame, int32, replyTo } from './support/wire.js';
import { startTestServer, type TestServer } from './support/server.js';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server.stop());

/** Sends a command whose bytes were changed after they were made, and gives the reply. */
async function sendChanged(command: Document, change: (bytes: Buffer) => void): Promise<Document> {
  const bytes = Buffer.from(serialize({ ...command, $db: 'test' }));
  change(bytes);
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  const reply = replyTo(socket);
  socket.write(frame(2013, [int32(0), Buffer.from([0]), bytes]));
  const answer = await Promise.race([reply, once(socket, 'close').then(() => ({ closed: true }))]);
  socket.destroy();
  return answer;
}

/** A document with so many levels, the outermost included. */
function nested(levels: number): Document {
  return levels === 1 ? { end: true } : { a: nested(levels - 1) };
}

describe('nesting', () => {
  it('of 180 levels is stored, found and updated; more is refused, and the connection goes on', async () => {
    const deep = server.database.collection('deep');
    await expect(deep.insertOne({ ...nested(180) })).resolves.toMatchObject({ acknowledged: true });
    await expect(deep.insertOne({ ...nested(181) })).rejects.toMatchObject({ code: 15 });
    expect(await deep.countDocuments(nested(180))).toBe(1);
    await deep.updateOne({}, { $set: { b: nested(179) } });
    await expect(deep.updateOne({}, { $set: { b: nested(180) } })).rejects.toMatchObject({ code: 15 });
    await expect(server.run({ count: 'deep', query: nested(250) })).rejects.toMatchObject({ code: 15 });
    expect(await deep.countDocuments({ b: nested(179) })).toBe(1);
  });
});

describe('a date beyond those of JavaScript', () => {
  const beyond = new Long(0, 0x7fff_ffff);
  /** The value is sent as a 64-bit number, and turned into a date. */
  const toDate = (bytes: Buffer): void => {
    bytes[bytes.indexOf('\x12when\0', 0, 'latin1')] = 9;
  };

  it('is refused in a document and in a filter', async () => {
    const inserted = await sendChanged({ insert: 'dates', documents: [{ when: beyond }] }, toDate);
    expect(inserted).toMatchObject({ ok: 0, code: 115, errmsg: expect.stringContaining('A date beyond') });
    const found = await sendChanged({ find: 'dates', filter: { when: beyond } }, toDate);
    expect(found).toMatchObject({ ok: 0, code: 115 });
  });
});

describe('a repeated name', () => {
  const rename = (bytes: Buffer): void => {
    bytes[bytes.indexOf('\x10b\0', 0, 'latin1') + 1] = 0x61;
  };

  it.each<Document>([
    { insert: 'twice', documents: [{ a: 1, b: 2 }] },
    { insert: 'twice', documents: [{ in: { a: 1, b: 2 } }] },
    { find: 'twice', filter: { a: 1, b: 2 } },
    { update: 'twice', updates: [{ q: {}, u: { $set: { a: 1, b: 2 } } }] },
  ])('is refused, as MongoDB counts both: %j', async (command) => {
    expect(await sendChanged(command, rename)).toMatchObject({
      code: 115,
      errmsg: expect.stringContaining("names the field 'a' twice"),
    });
  });
});

describe('results', () => {
  it('of more than 16 MB are an error', async () => {
    const text = 'x'.repeat(1_000_000);
    const large = await server.filled(Array.from({ length: 17 }, (_, n) => ({ n, text: text + String(n) })));
    const all = large.aggregate([{ $group: { _id: null, texts: { $push: '$text' } } }]).toArray();
    await expect(all).rejects.toMatchObject({ code: 10_334 });
    await expect(large.distinct('text')).rejects.toMatchObject({ code: 17_217 });
    const joined = large
      .aggregate([{ $project: { joined: { $concat: Array(17).fill('$text') } } }])
      .toArray();
    await expect(joined).rejects.toMatchObject({ code: 16_493 });
  });
});

describe('an empty timestamp', () => {
  // MongoDB stores the time of the server in its place, but only at the first level and where a document is stored as a whole.
  const empty = new Timestamp(0n);

  it('is refused in all input', async () => {
    const times = server.database.collection('times');
    const requests = [
      times.insertOne({ at: empty }),
      times.insertOne({ in: [{ at: empty }] }),
      times.replaceOne({}, { at: empty }),
      times.updateOne({}, { $set: { at: empty } }),
      times.findOne({ at: empty }),
    ];
    for (const request of requests) await expect(request).rejects.toMatchObject({ code: 115 });
    expect(await times.countDocuments()).toBe(0);
  });
});

describe('count', () => {
  it.each([1.5, -1.5, NaN, 1e30])('takes no limit of %d', async (limit) => {
    const names = await server.filled([{}, {}, {}]);
    const counted = server.run({ count: names.collectionName, limit });
    await expect(counted).rejects.toMatchObject({ code: 9 });
  });
});
