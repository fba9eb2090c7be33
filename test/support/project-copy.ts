import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';

/** What the scripts of package.json read to build and start the service. */
const SOURCES =
  'package.json nest-cli.json .swcrc tsconfig.json tsconfig.build.json scripts public src'.split(' ');
const LIBRARY = 'libs/embedded-mongodb';

/** A temporary copy of the project, and of more files, as a fresh clone has it: installed, with nothing built. */
export function useProjectCopy(...more: string[]): { path: string } {
  const copy = { path: '' };
  beforeAll(() => {
    copy.path = mkdtempSync(join(tmpdir(), 'project-'));
    for (const name of [...SOURCES, join(LIBRARY, 'package.json'), join(LIBRARY, 'src'), ...more])
      cpSync(name, join(copy.path, name), { recursive: true });
    // The packages are those of this checkout; the library's sources are those of the copy.
    mkdirSync(join(copy.path, 'node_modules'));
    for (const name of readdirSync('node_modules').filter((entry) => entry !== basename(LIBRARY)))
      symlinkSync(resolve('node_modules', name), join(copy.path, 'node_modules', name));
    symlinkSync(join('..', LIBRARY), join(copy.path, 'node_modules', basename(LIBRARY)));
  });
  afterAll(() => rmSync(copy.path, { recursive: true, force: true, maxRetries: 10 }));
  return copy;
}
