import '../src/check-node.js';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** Whether a file is missing, or older than something in the folders of its sources. */
export function isOutdated(file, ...folders) {
  if (!existsSync(file)) return true;
  const { mtimeMs } = statSync(file);
  return folders.some((folder) =>
    readdirSync(folder, { recursive: true }).some((name) => statSync(join(folder, name)).mtimeMs > mtimeMs),
  );
}

// Builds the service if there is no build, or if the build is older than its sources. Skips the type check of
// `npm run build`, which takes longer than the rest of a start.
if (
  isOutdated('libs/embedded-mongodb/dist/index.js', 'libs/embedded-mongodb/src') ||
  isOutdated('dist/bundle/main.js', 'src')
) {
  console.error('Building the service, which takes some seconds after a change …');
  const clock = setInterval(() => console.error(`Building, ${Math.round(process.uptime())} s …`), 3_000);
  const build = spawn(process.execPath, ['scripts/compile.js'], { stdio: ['ignore', 2, 2] });
  const [status] = await once(build, 'close');
  clearInterval(clock);
  if (status !== 0) process.exit(status ?? 1);
}
