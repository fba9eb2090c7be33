import { accessSync, constants, mkdirSync } from 'node:fs';
import { ConfigurationError } from './configuration.error.js';
import type { Environment } from './environment.js';

/**
 * The folder for data on disk. Created if it is missing, with access for its owner only.
 *
 * @throws ConfigurationError if it cannot be written
 */
export function dataDirOf({ dataDir }: Environment): string {
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    accessSync(dataDir, constants.W_OK | constants.X_OK);
    return dataDir;
  } catch {
    throw new ConfigurationError('DATA_DIR', `must be a folder that can be written; ${dataDir} is not`);
  }
}
