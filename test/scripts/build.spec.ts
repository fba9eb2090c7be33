/** @slow */
import { spawnSync } from 'node:child_process';
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { copyProject } from '../support/project-copy.js';

const BUILD_MS = 120_000;

let copy: string;
beforeAll(() => {
  copy = copyProject();
});
afterAll(() => rmSync(copy, { recursive: true }));

/** Starts a bundle of the copy, and tells whether V8 has refused the code that was compiled at the build; undefined if it got none. */
function refusesCode(bundle: string, ...flags: string[]): boolean | undefined {
  const program = `
    import { launch } from './dist/bundle/launcher.js';
    const { script, started } = launch('${bundle}');
    await started;
    process.stderr.write(JSON.stringify({ refused: script.cachedDataRejected }));
    process.exit();`;
  const { PATH } = process.env;
  const env = { PATH, PORT: '0', WORKER_PORT: '0', DATA_DIR: join(copy, 'data') };
  const args = [...flags, '--input-type=module', '--eval', program];
  const { stderr } = spawnSync(process.execPath, args, { cwd: copy, encoding: 'utf8', env });
  return (JSON.parse(stderr) as { refused?: boolean }).refused;
}

function flipByte(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 0xff, at);
  writeFileSync(file, bytes);
}

/** Builds the service as `npm run build` does, without the check of its types: `.ci/run` begins with all of it. */
beforeAll(() => {
  for (const script of ['compile.js', 'compile-bundles.js'])
    expect(spawnSync(process.execPath, [`scripts/${script}`], { cwd: copy }).status).toBe(0);
}, BUILD_MS);

it('the bundles start with the code that the build has compiled, and as well with none that fits', () => {
  const folder = join(copy, 'dist/bundle');
  const compiled = readdirSync(folder).filter((name) => name.endsWith('.code'));
  expect(compiled).toHaveLength(2);
  expect([refusesCode('main'), refusesCode('worker')]).toEqual([false, false]);
  expect(refusesCode('main', '--max-old-space-size=500')).toBe(true);
  for (const name of compiled) flipByte(join(folder, name), 100_000);
  expect([refusesCode('main'), refusesCode('worker')]).toEqual([undefined, undefined]);
  for (const name of compiled) rmSync(join(folder, name));
  expect([refusesCode('main'), refusesCode('worker')]).toEqual([undefined, undefined]);
});

it(
  'npm run build fails on a type error with the message of the compiler',
  () => {
    appendFileSync(join(copy, 'src/common/health/index.ts'), 'export const wrong: number = "text";\n');
    const { status, stdout } = spawnSync('npm', ['run', 'build'], { cwd: copy, encoding: 'utf8' });
    expect(stdout).toMatch(
      /src\/common\/health\/index\.ts\(\d+,14\): error TS2322: Type 'string' is not assignable to type 'number'\./,
    );
    expect(status).not.toBe(0);
  },
  BUILD_MS,
);
