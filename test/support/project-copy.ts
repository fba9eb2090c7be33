import { cpSync, mkdirSync, mkdtempSync, readdirSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';

/** What the scripts of package.json read to build and start the service. */
const SOURCES =
  'package.json nest-cli.json .swcrc tsconfig.json tsconfig.build.json scripts public src'.split(' ');
const LIBRARY = 'libs/embedded-mongodb';

/** Copies the project into a folder for temporary files as a fresh clone has it: installed, with nothing built. */
export function copyProject(): string {
  const copy = mkdtempSync(join(tmpdir(), 'project-'));
  for (const name of [...SOURCES, ...['package.json', 'src'].map((part) => join(LIBRARY, part))]) {
    cpSync(name, join(copy, name), { recursive: true });
  }
  // The packages are those of this checkout; the library's sources are those of the copy.
  mkdirSync(join(copy, 'node_modules'));
  for (const name of readdirSync('node_modules').filter((entry) => entry !== basename(LIBRARY))) {
    symlinkSync(resolve('node_modules', name), join(copy, 'node_modules', name));
  }
  symlinkSync(join('..', LIBRARY), join(copy, 'node_modules', basename(LIBRARY)));
  return copy;
}
