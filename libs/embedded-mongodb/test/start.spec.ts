import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { MongoClient } from 'mongodb';

// The server's thread runs compiled code, so these tests do as well.
const built = new URL('../dist/index.js', import.meta.url).href;
const { isDamage, startEmbeddedMongodb } = (await import(built)) as typeof import('../src/index.js');
const cli = new URL('../dist/cli.js', import.meta.url).pathname;
let dir: string;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'start-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Runs `use` with a client of the server. */
async function connected<T>(uri: string, use: (client: MongoClient) => Promise<T>): Promise<T> {
  const client = new MongoClient(uri, { serverSelectionTimeoutMS: 2_000 });
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

const add = (uri: string, name: string): Promise<unknown> =>
  connected(uri, (client) => client.db('test').collection<{ _id: string }>('names').insertOne({ _id: name }));
const names = (uri: string): Promise<string[]> =>
  connected(uri, (client) => client.db('test').collection<{ _id: string }>('names').distinct('_id'));

/** The server as a process of its own. */
async function startProcess(
  ...options: string[]
): Promise<{ uri: string; end(signal: NodeJS.Signals): Promise<unknown> }> {
  const child = spawn(process.execPath, [cli, ...options], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return {
    uri: String(line).trim(),
    async end(signal) {
      child.kill(signal);
      return exited;
    },
  };
}

/** How a process ends that ends while its server runs; see the script. */
async function exitCodeOf(when: string): Promise<unknown> {
  const script = new URL('./support/ending-process.mjs', import.meta.url).pathname;
  const options = { stdio: 'inherit', timeout: 10_000, killSignal: 'SIGKILL' } as const;
  const [code] = (await once(spawn(process.execPath, [script, dir, when], options), 'exit')) as [
    number | null,
  ];
  return code;
}

function socketOf(uri: string): string {
  return decodeURIComponent(uri.slice('mongodb://'.length, -1));
}

describe('startEmbeddedMongodb', () => {
  it('keeps data for the next start', async () => {
    const first = await startEmbeddedMongodb({ dir });
    await add(first.uri, 'ada');
    await first.stop();
    const second = await startEmbeddedMongodb({ dir });
    expect(await names(second.uri)).toEqual(['ada']);
    await second.stop();
  });

  it('listens on a socket that only its owner can use', async () => {
    const server = await startEmbeddedMongodb({ dir });
    const socket = socketOf(server.uri);
    expect(statSync(socket).mode & 0o777).toBe(0o600);
    expect(statSync(dirname(socket)).mode & 0o777).toBe(0o700);
    expect(statSync(join(dir, 'lmdb')).mode & 0o777).toBe(0o700);
    await server.stop();
  });

  it('serves a folder whose path is too long for a socket', async () => {
    const deep = join(dir, 'a'.repeat(100), 'b'.repeat(100));
    mkdirSync(deep, { recursive: true });
    const server = await startEmbeddedMongodb({ dir: deep });
    expect(statSync(dirname(socketOf(server.uri))).mode & 0o777).toBe(0o700);
    await add(server.uri, 'ada');
    await server.stop();
  });

  it('serves a folder whose path contains a percent sign', async () => {
    const server = await startEmbeddedMongodb({ dir: join(dir, '100%41') });
    await add(server.uri, 'one');
    expect(await names(server.uri)).toEqual(['one']);
    await server.stop();
  });

  it('listens on a TCP port when asked', async () => {
    const server = await startEmbeddedMongodb({ dir, port: 0 });
    expect(server.uri).toMatch(/^mongodb:\/\/127\.0\.0\.1:\d+\/$/);
    await add(server.uri, 'ada');
    await server.stop();
  });

  it('leaves nothing behind in memory mode', async () => {
    const ours = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith('embedded-mongodb-'));
    const before = ours();
    const server = await startEmbeddedMongodb({ memory: true });
    await add(server.uri, 'ada');
    expect(ours().length).toBeGreaterThan(before.length);
    await server.stop();
    expect(ours().filter((name) => !before.includes(name))).toEqual([]);
  });

  it.each(['while-serving', 'after-stop', 'by-itself'])(
    'lets the process end %s, and keeps what it acknowledged',
    async (when) => {
      expect(await exitCodeOf(when)).toBe(3);
      const server = await startEmbeddedMongodb({ dir });
      expect(await names(server.uri)).toEqual(['ada']);
      await server.stop();
    },
  );

  it('lets the process end at any moment of the start', async () => {
    for (const delay of [0, 40, 80, 120, 160, 200]) expect(await exitCodeOf(`${delay}`)).toBe(3);
  });

  it('requires either a folder or memory', async () => {
    await expect(startEmbeddedMongodb({})).rejects.toThrow('give either { dir } or { memory: true }');
    await expect(startEmbeddedMongodb({ dir, memory: true })).rejects.toThrow('give either');
  });
});

describe('a folder that cannot be used', () => {
  const isFile = (path: string): void => writeFileSync(path, '');
  const isFolder = (path: string): void => void mkdirSync(path, { recursive: true });
  it.each<[string, string, (path: string) => void]>([
    ['is a file', '', isFile],
    ['is behind a file', '../file', isFile],
    ['has a file in place of its data folder', 'lmdb', isFile],
    ['has a folder in place of its data file', 'lmdb/data.mdb', isFolder],
    ['has a file in place of its socket folder', 'run', isFile],
  ])('is refused with a sentence if it %s', async (_, path, make) => {
    const folder = path === '../file' ? join(dir, 'file', 'inner') : join(dir, 'folder');
    if (path !== '') mkdirSync(path === '../file' ? dir : folder, { recursive: true });
    make(path === '../file' ? join(dir, 'file') : join(folder, path));
    const failure = await startEmbeddedMongodb({ dir: folder }).catch((error: unknown) => error);
    expect((failure as Error).message).toMatch(
      /^The folder .* cannot hold the embedded database: E[A-Z]+.*\. Name a folder that this process can create, read and write/,
    );
    expect(isDamage(failure)).toBe(true);
  });
});

describe('a second start on the same folder', () => {
  it('finds the server of another process, and leaves it running', async () => {
    const other = await startProcess('--dir', dir);
    const mine = await startEmbeddedMongodb({ dir });
    expect(mine.uri).toBe(other.uri);
    await add(mine.uri, 'ada');
    await mine.stop();
    expect(await names(other.uri)).toEqual(['ada']);
    await other.end('SIGTERM');
  });

  it('results in one server if both start at once', async () => {
    const both = await Promise.all([startProcess('--dir', dir), startProcess('--dir', dir)]);
    expect(both[0].uri).toBe(both[1].uri);
    await Promise.all(both.map(({ end }) => end('SIGTERM')));
  });

  it('takes over from a killed process', async () => {
    const killed = await startProcess('--dir', dir);
    await add(killed.uri, 'ada');
    await killed.end('SIGKILL');
    const server = await startEmbeddedMongodb({ dir });
    expect(await names(server.uri)).toEqual(['ada']);
    await server.stop();
  });

  // Elsewhere nobody tells whether a process that is still listed has ended.
  (process.platform === 'linux' ? it : it.skip)(
    'takes over from a killed process that its parent leaves listed',
    async () => {
      // The shell becomes a process that never asks how its child has ended.
      const command = `"${process.execPath}" "${cli}" --dir "${dir}" & echo $!; exec sleep 60`;
      const parent = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] });
      let output = '';
      for await (const text of parent.stdout) if ((output += String(text)).includes('mongodb://')) break;
      const [pid = '', uri = ''] = output.trim().split('\n');
      await add(uri, 'ada');
      process.kill(Number(pid), 'SIGKILL');
      while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))) await new Promise(setImmediate);
      const server = await startEmbeddedMongodb({ dir });
      expect(await names(server.uri)).toEqual(['ada']);
      await server.stop();
      parent.kill('SIGKILL');
    },
  );

  it('takes over a lock whose owner has died before it could fill it', async () => {
    writeFileSync(join(dir, 'server.lock'), '');
    const server = await startEmbeddedMongodb({ dir });
    await add(server.uri, 'ada');
    await server.stop();
  });

  it('is not misled when the number of a killed process is used again', async () => {
    const stale = { pid: process.pid, started: '1', uri: 'mongodb://127.0.0.1:1/' };
    writeFileSync(join(dir, 'server.lock'), JSON.stringify(stale));
    const server = await startEmbeddedMongodb({ dir });
    await add(server.uri, 'ada');
    await server.stop();
  });
});

describe('the command line', () => {
  it('ends with one sentence if the journal is damaged', async () => {
    const first = await startProcess('--dir', dir);
    await add(first.uri, 'ada');
    await first.end('SIGKILL');
    const journal = join(dir, 'lmdb', 'journal');
    const bytes = readFileSync(journal);
    bytes.writeUInt8(bytes.readUInt8(0) ^ 1);
    writeFileSync(journal, bytes);
    const child = spawn(process.execPath, [cli, '--dir', dir], { stdio: 'pipe' });
    const [[text], [code]] = await Promise.all([once(child.stderr, 'data'), once(child, 'exit')]);
    expect(String(text)).toMatch(/^The journal .*journal is damaged at byte 0.* Put a backup .*\n/);
    expect(code).toBe(1);
  });

  it('prints its options', async () => {
    const child = spawn(process.execPath, [cli, '--port', 'many', '--memory'], { stdio: 'pipe' });
    const [[text], [code]] = await Promise.all([once(child.stderr, 'data'), once(child, 'exit')]);
    expect(String(text)).toContain('--port takes a whole number from 0 to 65535.');
    expect(code).toBe(1);
  });
});
