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

/** Builds the modules of the service if they are missing or old, without the type check of `npm run build`. */
export async function buildModules() {
  const isOld = isOutdated('libs/embedded-mongodb/dist/index.js', 'libs/embedded-mongodb/src');
  if (isOld || isOutdated('dist/main.js', 'src')) await build('compile.js');
}

/** Builds the bundles, too, which takes several times as long. */
export async function buildBundles() {
  await buildModules();
  if (isOutdated('dist/bundle/main.js', 'src')) await build('bundle.js');
}

/** Starts a process of the service: its bundle, which starts in half of the time, or its modules where there is no new one. */
export async function start(name) {
  await buildModules();
  // In the same process, since another one would delay the start.
  await import(
    isOutdated(`dist/bundle/${name}.js`, 'src') ? `../dist/${name}.js` : `../dist/bundle/${name}.js`
  );
}

async function build(script) {
  console.error('Building the service, which takes some seconds after a change …');
  const clock = setInterval(() => console.error(`Building, ${Math.round(process.uptime())} s …`), 3_000);
  const [status] = await once(
    spawn(process.execPath, [`scripts/${script}`], { stdio: ['ignore', 2, 2] }),
    'close',
  );
  clearInterval(clock);
  if (status !== 0) process.exit(status ?? 1);
}
