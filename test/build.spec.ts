import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';

const BUILD_MS = 120_000;

/** What `npm run build` reads. */
const SOURCES = ['package.json', 'nest-cli.json', '.swcrc', 'tsconfig.json', 'tsconfig.build.json', 'src'];
const LIBRARY = 'libs/embedded-mongodb';

let copy: string;
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'build-'));
  for (const name of [...SOURCES, ...['package.json', 'src'].map((part) => join(LIBRARY, part))]) {
    cpSync(name, join(copy, name), { recursive: true });
  }
  // The packages are those of this checkout; the library's sources are those of the copy.
  mkdirSync(join(copy, 'node_modules'));
  for (const name of readdirSync('node_modules').filter((entry) => entry !== basename(LIBRARY))) {
    symlinkSync(resolve('node_modules', name), join(copy, 'node_modules', name));
  }
  symlinkSync(join('..', LIBRARY), join(copy, 'node_modules', basename(LIBRARY)));
});
afterAll(() => rmSync(copy, { recursive: true }));

function build(): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync('npm', ['run', 'build'], { cwd: copy, encoding: 'utf8' });
  return { status, output: stdout + stderr };
}

it(
  'npm run build makes the service, and fails on a type error with the message of the compiler',
  () => {
    expect(build()).toMatchObject({ status: 0 });
    expect(existsSync(join(copy, 'dist/main.js'))).toBe(true);

    appendFileSync(join(copy, 'src/health/shutdown-state.ts'), 'export const wrong: number = "text";\n');
    const { status, output } = build();
    expect(output).toContain(
      "src/health/shutdown-state.ts(8,14): error TS2322: Type 'string' is not assignable to type 'number'.",
    );
    expect(status).not.toBe(0);
  },
  BUILD_MS,
);
