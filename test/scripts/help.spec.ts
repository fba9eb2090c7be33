/** @slow */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { useProjectCopy } from '../support/project-copy.js';
import { run } from '../support/run.js';

const TOOLS = ['bench.js', 'bench', 'drill.js', 'drills', 'support'].map((name) => join('tools', name));
const copy = useProjectCopy('libs/schematics', ...TOOLS);
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object };

it.each(Object.keys(scripts))(
  'npm run %s explains itself with --help, and a misspelt option in one sentence, without a build',
  (name) => {
    const npm = (option: string) => run('npm', ['run', '--silent', name, '--', option], { cwd: copy.path });
    const stdout = expect.stringMatching(/^Usage: /) as string;
    expect(npm('--help')).toEqual({ status: 0, stdout, stderr: '' });
    const stderr = expect.stringMatching(/^(Unknown|Unrecognized) option .+\n$/) as string;
    expect(npm('--hlep')).toEqual({ status: 1, stdout: '', stderr });
    expect(existsSync(join(copy.path, 'dist'))).toBe(false);
  },
);
