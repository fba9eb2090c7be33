import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transformSync } from '@swc/core';
import { startServer } from '../../scripts/support/processes.js';
import { PEERS } from './peers.js';

const FOLDER = join(dirname(fileURLToPath(import.meta.url)), 'peers');

/** Starts a peer or the service on the database, and resolves with its process and its URL. */
export async function startPeer(name, database) {
  const { folder, file, env: own } = PEERS[name];
  if (folder) prepare(join(FOLDER, folder), file);
  const env = {
    ...process.env,
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: '0',
    ...(folder ? { MONGODB_URI: database.peerUri } : serviceEnv(database)),
    ...own,
  };
  const path = folder ? join(FOLDER, folder, file) : file;
  const { child, said } = await startServer([path], env, /Listening on (http:[^\s;"]+)/);
  return { name, child, url: said.replace('[::1]', '127.0.0.1') };
}

/**
 * The defaults, except for settings that a development machine lacks, and for a rate that only a load
 * generator reaches.
 */
function serviceEnv(database) {
  return {
    NODE_ENV: 'development',
    LOG_LEVEL: 'info',
    DATA_DIR: database.folder,
    // Counted, but never reached.
    RATE_LIMIT_ADDRESS: '1000000000',
    ...database.serviceEnv,
  };
}

/** Installs the packages in a peer's lock file, and compiles TypeScript. */
function prepare(folder, file) {
  if (!existsSync(join(folder, 'node_modules'))) {
    console.error(`Installing ${folder}`);
    const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    const { status } = spawnSync('npm', args, { cwd: folder, stdio: ['ignore', 2, 2] });
    if (status !== 0) throw new Error(`npm ci failed in ${folder}`);
  }
  const source = join(folder, 'server.ts');
  const result = join(folder, file);
  if (!existsSync(source)) return;
  if (existsSync(result) && statSync(result).mtimeMs > statSync(source).mtimeMs) return;
  const { code } = transformSync(readFileSync(source, 'utf8'), {
    swcrc: false,
    filename: source,
    module: { type: 'es6' },
    jsc: {
      target: 'es2022',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
      keepClassNames: true,
    },
  });
  mkdirSync(dirname(result), { recursive: true });
  writeFileSync(result, code);
}
