import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { readArguments } from './support/arguments.js';

readArguments(
  `Usage: npm run examples\n\nStarts the resources of the examples folder together, on a database of their own.`,
);
await import('./build-if-missing.js');

/** The examples import the sources of the service: both are built here, next to the service's own build. */
const target = 'dist/examples';
const result = `${target}/examples/main.js`;

function newest(folder) {
  const times = readdirSync(folder, { recursive: true }).map((name) => statSync(join(folder, name)).mtimeMs);
  return Math.max(...times);
}

if (!existsSync(result) || statSync(result).mtimeMs < Math.max(newest('examples'), newest('src'))) {
  rmSync(target, { recursive: true, force: true });
  const swc = ['node_modules/@swc/cli/bin/swc.js', 'src', 'examples', '--out-dir', target];
  const { status } = spawnSync(process.execPath, [...swc, '--ignore', '**/*.e2e-spec.ts'], {
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) process.exit(status ?? 1);
}

// In the same process, since another one would delay the start.
await import('../dist/examples/examples/main.js');
