import { spawnSync, type SpawnSyncOptions } from 'node:child_process';

/** For compilers, browsers and fresh starts, on a machine that is busy. Unit: milliseconds. */
export const TOOLS_MS = 900_000;

export function run(command: string, args: readonly string[], options: SpawnSyncOptions = {}) {
  const { status, stdout, stderr } = spawnSync(command, args, { ...options, encoding: 'utf8' });
  return { status, stdout, stderr };
}

export const runNode = (args: readonly string[], options?: SpawnSyncOptions) =>
  run(process.execPath, args, options);
