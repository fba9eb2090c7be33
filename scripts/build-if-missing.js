import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Builds the service where there is no build, or one older than its sources. */
const BUILT = 'dist/main.js';

function newest(folder) {
  const times = readdirSync(folder, { recursive: true }).map((name) => statSync(join(folder, name)).mtimeMs);
  return Math.max(...times);
}

if (!existsSync(BUILT) || statSync(BUILT).mtimeMs < newest('src')) {
  const { status } = spawnSync('npm', ['run', '--silent', 'build'], { stdio: ['ignore', 2, 2], shell: true });
  process.exitCode = status ?? 1;
}
