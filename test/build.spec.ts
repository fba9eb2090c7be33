import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { copyProject } from './support/project-copy.js';

const BUILD_MS = 120_000;

let copy: string;
beforeAll(() => {
  copy = copyProject();
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
    expect(existsSync(join(copy, 'dist/bundle/main.js'))).toBe(true);

    appendFileSync(join(copy, 'src/health/shutdown-state.ts'), 'export const wrong: number = "text";\n');
    const { status, output } = build();
    expect(output).toContain(
      "src/health/shutdown-state.ts(8,14): error TS2322: Type 'string' is not assignable to type 'number'.",
    );
    expect(status).not.toBe(0);
  },
  BUILD_MS,
);
