import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ConfigurationError } from './configuration.error.js';
import type { Environment } from './environment.js';

/**
 * The folder for data on disk, or one inside it. Created if it is missing, with access for its owner only.
 *
 * @throws ConfigurationError if it cannot be written
 */
export function dataDirOf({ dataDir }: Environment, inside = ''): string {
  let folder = dataDir;
  try {
    for (folder of [dataDir, join(dataDir, inside)]) {
      make(resolve(folder));
      accessSync(folder, constants.W_OK | constants.X_OK);
    }
    return folder;
  } catch {
    throw new ConfigurationError('DATA_DIR', `must be a folder that can be written; ${folder} is not`);
  }
}

/** One folder at a time: Node's own recursion never ends where no folder can be made, such as below /proc. */
function make(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found && !found.isDirectory()) throw new Error('Not a folder');
  if (found) return;
  make(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    // Another process may have just made it.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
}
