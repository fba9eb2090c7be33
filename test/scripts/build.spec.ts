/** @slow */
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { useProjectCopy } from '../support/project-copy.js';
import { run, runNode, TOOLS_MS } from '../support/run.js';

// The build of this checkout: the first test changes its files.
const copy = useProjectCopy('dist', 'libs/embedded-mongodb/dist');
const inCopy = (path: string) => join(copy.path, path);

/** Starts a bundle of the copy, and tells whether V8 has refused the code that was compiled at the build; undefined if it got none. */
function rejectsCode(bundle: string, ...flags: string[]): boolean | undefined {
  const program = `
    import { launch } from './dist/bundle/launcher.js';
    const { script, started } = launch('${bundle}');
    await started;
    process.stderr.write(JSON.stringify({ refused: script.cachedDataRejected }));
    process.exit();`;
  writeFileSync(inCopy('program.js'), program);
  const env = { PATH: process.env.PATH, PORT: '0', WORKER_PORT: '0', DATA_DIR: inCopy('data') };
  const { stderr } = runNode([...flags, 'program.js'], { cwd: copy.path, env });
  return (JSON.parse(stderr) as { refused?: boolean }).refused;
}

function flipByte(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes.writeUInt8(bytes.readUInt8(at) ^ 0xff, at);
  writeFileSync(file, bytes);
}

it('the bundles start with the code that the build has compiled, and as well with none that fits', () => {
  const compiled = readdirSync(inCopy('dist/bundle')).filter((name) => name.endsWith('.code'));
  const files = compiled.map((name) => inCopy(`dist/bundle/${name}`));
  expect(files).toHaveLength(2);
  const both = () => [rejectsCode('main'), rejectsCode('worker')];
  expect(both()).toEqual([false, false]);
  expect(rejectsCode('main', '--max-old-space-size=500')).toBe(true);
  for (const file of files) flipByte(file, 100_000);
  expect(both()).toEqual([undefined, undefined]);
  for (const file of files) rmSync(file);
  expect(both()).toEqual([undefined, undefined]);
});

it(
  'npm run build fails on a type error with the message of the compiler',
  () => {
    appendFileSync(inCopy('src/common/health/index.ts'), 'export const wrong: number = "text";\n');
    const { status, stdout } = run('npm', ['run', 'build'], { cwd: copy.path });
    const fault = "error TS2322: Type 'string' is not assignable to type 'number'\\.";
    expect(stdout).toMatch(new RegExp(`src/common/health/index\\.ts\\(\\d+,14\\): ${fault}`));
    expect(status).not.toBe(0);
  },
  TOOLS_MS,
);
