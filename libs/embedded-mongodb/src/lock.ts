import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';

/** Who serves a folder: one process, and how it is reached. */
interface Owner {
  pid: number;
  uri?: string;
}

/** Makes sure that one process alone opens a folder, and tells the others where it serves. */
export class Lock {
  private constructor(private readonly path: string) {}

  /**
   * Takes the lock of a folder, which is created where it is missing. A lock left behind by a process that has died is
   * taken over.
   *
   * @returns the lock, or the URI at which its owner serves
   * @throws Error where the owner lives but does not serve (yet)
   */
  static take(dir: string): Lock | string {
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const path = join(dir, 'server.lock');
    for (;;) {
      if (write(path, { pid: process.pid })) return new Lock(path);
      const owner = read(path);
      if (owner && owner.pid !== process.pid && isAlive(owner.pid)) {
        if (owner.uri !== undefined) return owner.uri;
        throw new Error(
          `The folder ${dir} is being opened by the process ${owner.pid}. Wait for it, or use another folder.`,
        );
      }
      if (owner?.uri !== undefined && owner.pid === process.pid) return owner.uri;
      // Renamed before it is removed: of two processes that find it stale, one succeeds.
      const stale = `${path}.${process.pid}.stale`;
      try {
        renameSync(path, stale);
        rmSync(stale, { force: true });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
  }

  /** Tells where the folder is served. */
  publish(uri: string): void {
    const draft = `${this.path}.${process.pid}.draft`;
    writeFileSync(draft, JSON.stringify({ pid: process.pid, uri } satisfies Owner), { mode: 0o600 });
    renameSync(draft, this.path);
  }

  release(): void {
    rmSync(this.path, { force: true });
  }
}

function write(path: string, owner: Owner): boolean {
  try {
    const file = openSync(path, 'wx', 0o600);
    writeSync(file, JSON.stringify(owner));
    closeSync(file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function read(path: string): Owner | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Owner;
  } catch {
    return undefined;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
