/** @slow */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { useProjectCopy } from '../support/project-copy.js';
import { run } from '../support/run.js';

const TOOLS = ['bench.js', 'bench', 'drill.js', 'drills', 'support'].map((name) => join('tools', name));
const copy = useProjectCopy('libs/schematics', ...TOOLS);
const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };

it.each(Object.entries(scripts))(
  'npm run %s explains itself with --help, and a misspelt option in one sentence, without a build',
  (_name, command) => {
    // As npm does, which itself takes longer to start than what it starts.
    const script = (option: string) => run('sh', ['-c', `${command} ${option}`], { cwd: copy.path });
    const stdout = expect.stringMatching(/^Usage: /) as string;
    expect(script('--help')).toEqual({ status: 0, stdout, stderr: '' });
    const stderr = expect.stringMatching(/^(Unknown|Unrecognized) option .+\n$/) as string;
    expect(script('--hlep')).toEqual({ status: 1, stdout: '', stderr });
    expect(existsSync(join(copy.path, 'dist'))).toBe(false);
  },
);
