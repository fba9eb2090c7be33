import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { buildModules, isOutdated } from './build-if-missing.js';
import { readArguments } from './support/arguments.js';

readArguments(
  `Usage: npm run examples\n\nStarts the resources of the examples folder together, on a database of their own.`,
);
await buildModules();

/** The examples import the sources of the service: both are built here, next to the service's own build. */
const target = 'dist/examples';
const result = `${target}/examples/main.js`;

if (isOutdated(result, 'examples', 'src')) {
  rmSync(target, { recursive: true, force: true });
  const swc = ['node_modules/@swc/cli/bin/swc.js', 'src', 'examples', '--out-dir', target];
  const { status } = spawnSync(process.execPath, [...swc, '--ignore', '**/*.e2e-spec.ts'], {
    stdio: ['ignore', 2, 2],
  });
  if (status !== 0) process.exit(status ?? 1);
}

// In the same process, since another one would delay the start.
await import('../dist/examples/examples/main.js');
