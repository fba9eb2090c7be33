import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { explained } from './storage/no-room.js';

/** The process that serves a folder, and its address. */
interface Owner {
  pid: number;
  /** When the process began; distinguishes it from a later one with the same number. */
  started?: string;
  uri?: string;
}

/** How long another process may take to open the folder. Unit: milliseconds. */
const patienceMs = 10_000;
const pollMs = 20;
/**
 * How long a lock may be empty: it is filled as soon as it is made, unless its owner dies in between. Unit:
 * milliseconds.
 */
const emptyMs = 1_000;

/** The locks of this process, by path. */
const held = new Set<string>();

/** Ensures that only one process opens a folder, and tells the others where it serves. */
export class Lock {
  private constructor(private readonly path: string) {
    held.add(path);
  }

  /**
   * Takes the lock of a folder, which is created if it is missing. A lock left by a dead process is taken
   * over. If another process is opening the folder, this waits for it.
   *
   * @returns the lock, or the URI at which its owner serves
   * @throws Error if the owner is alive but does not start to serve
   */
  static async take(dir: string): Promise<Lock | string> {
    makeFolder(dir);
    const path = join(dir, 'server.lock');
    for (const begun = Date.now(); ;) {
      if (create(path)) return new Lock(path);
      const text = read(path);
      const owner = parse(text);
      const waited = Date.now() - begun;
      if (owner ? !isAlive(owner, path) : waited > emptyMs) {
        remove(path, text);
        continue;
      }
      if (owner?.uri !== undefined) return owner.uri;
      if (waited > patienceMs) {
        throw new Error(
          `The folder ${dir} has been opened by the process ${owner?.pid}, which does not serve it. End that process, or use another folder.`,
        );
      }
      await setTimeout(pollMs);
    }
  }

  /** Publishes the address at which the folder is served. */
  publish(uri: string): void {
    const draft = `${this.path}.${process.pid}.draft`;
    writeFileSync(draft, JSON.stringify({ ...self(), uri } satisfies Owner), { mode: 0o600 });
    renameSync(draft, this.path);
  }

  release(): void {
    held.delete(this.path);
    rmSync(this.path, { force: true });
  }
}

/** One folder at a time: Node's own recursion never ends where no folder can be made, such as below /proc. */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have just made it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}

function self(): Owner {
  return { pid: process.pid, started: startOf(process.pid) };
}

function create(path: string): boolean {
  try {
    writeFileSync(path, JSON.stringify(self()), { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    // On a full disk, it was created but could not be filled.
    if (read(path) === '') rmSync(path, { force: true });
    throw explained(error);
  }
}

/** Removes a stale lock, unless someone else has removed and taken it in the meantime. */
function remove(path: string, stale: string): void {
  const aside = `${path}.${process.pid}.stale`;
  try {
    renameSync(path, aside);
    if (read(aside) === stale) rmSync(aside, { force: true });
    else renameSync(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Undefined while the owner is writing it. */
function parse(text: string): Owner | undefined {
  try {
    return JSON.parse(text) as Owner;
  } catch {
    return undefined;
  }
}

/** After a restart, especially of a container, another process may have the owner's number. */
function isAlive({ pid, started }: Owner, path: string): boolean {
  if (pid === process.pid) return held.has(path);
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false;
  }
  return started === undefined || startOf(pid) === started;
}

/**
 * When a process began, in Linux's own unit; undefined elsewhere, and for a process that has ended but is
 * still listed.
 */
function startOf(pid: number): string | undefined {
  const stat = read(`/proc/${pid}/stat`);
  // The process's name, in brackets, may contain spaces. Its state follows, and the start is the twentieth
  // field after that.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields[0] === 'Z' ? undefined : fields[19];
}
