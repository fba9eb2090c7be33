import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient, type Collection } from 'mongodb';

const cli = new URL('../dist/cli.js', import.meta.url).pathname;
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'full-disk-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

interface Note {
  _id: number;
  body: string;
  n: number;
}

/** Runs `use` against a server whose files may not grow beyond a size, as on a disk that is full; it ends with SIGKILL. */
async function withFileLimit(limit: string, use: (notes: Collection<Note>) => Promise<void>): Promise<void> {
  const command = `ulimit -f ${limit}; exec "${process.execPath}" "${cli}" --port 0 --dir "${dir}"`;
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const client = new MongoClient(String(line).trim());
  try {
    await use(client.db('test').collection<Note>('notes'));
  } finally {
    await client.close();
    child.kill('SIGKILL');
    await exited;
  }
}

/** Repeats an action with growing numbers. */
async function untilItFails(action: (n: number) => Promise<unknown>): Promise<never> {
  for (let n = 0; ; n++) await action(n);
}

describe('a server whose disk is full', () => {
  it('reports it instead of starting on a new folder', async () => {
    const command = `ulimit -f 100; exec "${process.execPath}" "${cli}" --port 0 --dir "${dir}"`;
    const child = spawn('sh', ['-c', command], { stdio: 'pipe' });
    const [[text], [code]] = await Promise.all([once(child.stderr, 'data'), once(child, 'exit')]);
    expect(String(text)).toContain('There is no room for the data (EFBIG). Free some space');
    expect(code).toBe(1);
  });

  it('starts, answers reads, and recovers when something is dropped', async () => {
    await withFileLimit('16384', async (notes) => {
      const add = (_id: number): Promise<unknown> => notes.insertOne({ _id, body: 'x'.repeat(5_000), n: 0 });
      await expect(untilItFails(add)).rejects.toMatchObject({ code: 14_031 });
      await notes.drop().catch(() => undefined);
      expect(await notes.countDocuments({ n: 1 })).toBe(0);
    });
    await withFileLimit('16384', async (notes) => {
      expect(await notes.countDocuments({ n: 1 })).toBe(0);
    });
  }, 90_000);

  it('fails the writes that it cannot keep, answers reads, and has lost nothing when there is room again', async () => {
    const acknowledged = new Set<number>();
    // Unit: 512 bytes.
    await withFileLimit('16384', async (notes) => {
      await notes.createIndex({ n: 1 });
      const add = async (_id: number, size: number): Promise<unknown> => {
        await notes.insertOne({ _id, body: 'x'.repeat(size), n: _id % 7 });
        return acknowledged.add(_id);
      };
      await expect(untilItFails((_id) => add(_id, 50_000))).rejects.toMatchObject({ code: 14_031 });
      // What is small still finds room.
      await add(1_000_000, 10);
      await expect(notes.updateMany({}, { $set: { body: 'y'.repeat(40_000) } })).rejects.toThrow(
        'Free some space',
      );
      expect(await notes.countDocuments({ n: { $gte: 0 } })).toBe(acknowledged.size);
    });
    expect(acknowledged.size).toBeGreaterThan(50);

    await withFileLimit('unlimited', async (notes) => {
      const ids = await notes.find().hint({ $natural: 1 }).project<{ _id: number }>({ _id: 1 }).toArray();
      expect(ids.map(({ _id }) => _id)).toEqual([...acknowledged]);
      expect(
        await notes
          .find({ n: { $gte: 0 } })
          .hint('n_1')
          .toArray(),
      ).toHaveLength(acknowledged.size);
      expect(await notes.estimatedDocumentCount()).toBe(acknowledged.size);
      await notes.insertOne({ _id: -1, body: '', n: 0 });
    });
  });
});
