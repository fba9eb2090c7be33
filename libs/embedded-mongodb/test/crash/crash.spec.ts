import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const rounds = process.env.CRASH_ROUNDS ?? '5';

describe('a server killed under concurrent writers', () => {
  it('has lost nothing that it acknowledged when it starts again', async () => {
    const run = fileURLToPath(new URL('./run.mjs', import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, [run, rounds]);
    expect(stdout).toContain(`${rounds} rounds`);
    expect(stdout).toContain('nothing lost');
  }, 600_000);
});
