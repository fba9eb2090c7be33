import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Guard {
  name: string;
  file: string;
  guard: string;
  tests: string[];
}

const module = (name: string) => import(join(process.cwd(), 'scripts/guards', name)) as Promise<unknown>;
const { GUARDS } = (await module('index.js')) as { GUARDS: readonly Guard[] };

describe('the list of guards', () => {
  it.each(GUARDS)('has "$name" as it stands in its file, once', ({ file, guard }) => {
    expect(readFileSync(file, 'utf8').split(guard)).toHaveLength(2);
  });

  it.each(GUARDS)('names tests of "$name" that exist', ({ tests }) => {
    const missing = tests.filter(
      (name) => !['spec', 'e2e-spec'].some((kind) => existsSync(`test/${name}.${kind}.ts`)),
    );
    expect([tests.length > 0, missing]).toEqual([true, []]);
  });

  it('has each name once, and a row with a test in docs/guards.md', () => {
    const rows = [...readFileSync('docs/guards.md', 'utf8').matchAll(/^\| (.+?) +\| \[.*\| `.+` +\|$/gm)];
    expect(rows.map(([, name]) => name)).toEqual([...new Set(GUARDS.map(({ name }) => name))]);
    expect(rows).toHaveLength(GUARDS.length);
  });
});
