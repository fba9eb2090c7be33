import '../src/check-node.js';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** The builds, each with the folder of its sources. */
const builds = [
  { result: 'libs/embedded-mongodb/dist/index.js', sources: 'libs/embedded-mongodb/src' },
  { result: 'dist/bundle/main.js', sources: 'src' },
];

function newest(folder) {
  const times = readdirSync(folder, { recursive: true }).map((name) => statSync(join(folder, name)).mtimeMs);
  return Math.max(...times);
}

// Builds the service if there is no build, or if the build is older than its sources. Skips the type check of
// `npm run build`, which takes longer than the rest of a start.
if (builds.some(({ result, sources }) => !existsSync(result) || statSync(result).mtimeMs < newest(sources))) {
  console.error('Building the service, which takes some seconds after a change …');
  const { status } = spawnSync(process.execPath, ['scripts/compile.js'], { stdio: ['ignore', 2, 2] });
  if (status !== 0) process.exit(status ?? 1);
}
