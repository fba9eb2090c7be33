import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { failure } from '../errors.js';

/**
 * Error codes for lack of disk space, by the disk, a quota or a limit: names from Node, numbers from LMDB.
 */
const noRoom: ReadonlySet<unknown> = new Set(
  ['ENOSPC', 'EDQUOT', 'EFBIG'].flatMap((name) => [name, constants.errno[name as 'ENOSPC']]),
);

/** Space that LMDB's files need at first. Unit: bytes. */
const firstRoom = 128 * 1024;

/** Turns an error into the one that the client should see. */
export function explained(error: unknown): unknown {
  const { code } = error as { code?: unknown };
  if (code === undefined || !noRoom.has(code)) return error;
  return failure(
    'OutOfDiskSpace',
    `There is no room for the data (${String(code)}). Free some space on the disk that holds them.`,
  );
}

/**
 * Checks that a new folder has space for LMDB's files. One of them is mapped into memory: if the disk cannot
 * back it, a signal ends the process without any message.
 *
 * @throws CommandError OutOfDiskSpace (14031)
 */
export function checkRoom(folder: string): void {
  const table = statSync(join(folder, 'lock.mdb'), { throwIfNoEntry: false });
  if (table && table.blocks * 512 >= table.size) return;
  const probe = join(folder, 'room');
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(probe, Buffer.alloc(firstRoom, 1), { mode: 0o600 });
  } catch (error) {
    throw explained(error);
  } finally {
    rmSync(probe, { force: true });
  }
}
