import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { MongoServer } from '../src/server.js';

let folder: string;

/** Starts a server on a folder and gives the number of its documents. */
async function count(dir: string, documents: { n: number }[] = []): Promise<number> {
  const server = await MongoServer.start({ dir, port: 0 });
  const client = new MongoClient(`mongodb://127.0.0.1:${server.port}/`);
  try {
    const names = client.db('test').collection<{ n: number }>('names');
    if (documents.length > 0) await names.insertMany(documents);
    return await names.countDocuments();
  } finally {
    await client.close();
    await server.stop();
  }
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'data-file-'));
  await count(
    join(folder, 'good'),
    Array.from({ length: 2_000 }, (_, n) => ({ n })),
  );
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A byte of the head that counts, the one of the later transaction, is changed. */
function flipped(bytes: Buffer, at: number): Buffer {
  const later = bytes.readBigUInt64LE(152) > bytes.readBigUInt64LE(4_096 + 152) ? 0 : 4_096;
  const result = Buffer.from(bytes);
  result[later + at] = (result[later + at] as number) ^ 0x1;
  return result;
}

// Without the check most of these end the process, and the tests with it.
describe('a data file', () => {
  it.each<[string, (bytes: Buffer) => Buffer]>([
    ['of garbage', (bytes) => Buffer.from(bytes.map((_, i) => (i * 7_919 + 13) % 251))],
    ['of zeros', (bytes) => Buffer.alloc(bytes.length)],
    ['of text', () => Buffer.from('hello')],
    ['without content', () => Buffer.alloc(0)],
    ['cut off in its head', (bytes) => bytes.subarray(0, 100)],
    ['cut off behind its first page', (bytes) => bytes.subarray(0, 4_096)],
    ['cut off behind its head', (bytes) => bytes.subarray(0, 8_192)],
    ['cut in half', (bytes) => bytes.subarray(0, bytes.length / 2)],
    ['with garbage behind its head', (bytes) => Buffer.from(bytes).fill(0xa5, 8_192)],
    ['cut off before its last page', (bytes) => bytes.subarray(0, -4_096)],
    ['with another root in its head', (bytes) => flipped(bytes, 136)],
    ['with another count of pages in its head', (bytes) => flipped(bytes, 144)],
    ['with an earlier transaction in its head', (bytes) => flipped(bytes, 152)],
    ['with a later transaction in its head', (bytes) => flipped(bytes, 158)],
  ])('%s is refused in a sentence', async (name, change) => {
    const dir = join(folder, name);
    cpSync(join(folder, 'good'), dir, { recursive: true });
    const file = join(dir, 'data.mdb');
    writeFileSync(file, change(readFileSync(file)));
    await expect(count(dir)).rejects.toThrow(
      /^The data file .*data\.mdb cannot be opened: .*\. Put a backup/,
    );
  });

  it('is refused with a clear message if its journal is missing', async () => {
    const dir = join(folder, 'without journal');
    cpSync(join(folder, 'good'), dir, { recursive: true });
    rmSync(join(dir, 'journal'));
    await expect(count(dir)).rejects.toThrow(/data\.mdb cannot be opened: the journal .* is missing/);
  });

  it('is refused with a clear message if it is missing but its journal exists', async () => {
    const dir = join(folder, 'missing');
    cpSync(join(folder, 'good'), dir, { recursive: true });
    rmSync(join(dir, 'data.mdb'));
    await expect(count(dir)).rejects.toThrow(/data\.mdb cannot be opened: it is missing\. Put a backup/);
  });

  it('is opened if its record is older, or was never written', async () => {
    const dir = join(folder, 'older');
    cpSync(join(folder, 'good'), dir, { recursive: true });
    const record = readFileSync(join(dir, 'data.mdb-head'));
    for (let n = 0; n < 3; n++) await count(dir, [{ n }]);
    writeFileSync(join(dir, 'data.mdb-head'), record);
    expect(await count(dir)).toBe(2_003);
    rmSync(join(dir, 'data.mdb-head'));
    expect(await count(dir)).toBe(2_003);
  });

  it('is opened if it is intact, and so is a new folder', async () => {
    expect(await count(join(folder, 'good'))).toBe(2_000);
    expect(await count(join(folder, 'new'))).toBe(0);
  });
});
