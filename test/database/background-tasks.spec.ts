import { spawnSync } from 'node:child_process';
import { buildService } from '../support/service-process.js';

/** More than the listeners of one signal that Node expects. */
const TASKS = 20;

// Outside of the test runner, which has no warnings.
const CODE = `
  import { BackgroundTasks } from './dist/common/database/background-tasks.js';
  import { pause } from './dist/common/database/background-tasks.js';
  const tasks = new BackgroundTasks();
  for (let i = 0; i < ${TASKS}; i++) tasks.run('Waiting', (stopping) => pause(60_000, stopping));
  await tasks.stop();
  console.log('stopped');`;

it('any number of background tasks stop at once', () => {
  buildService();
  const args = ['--input-type=module', '-e', CODE];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', timeout: 20_000 });
  expect({ stdout, stderr }).toEqual({ stdout: 'stopped\n', stderr: '' });
});
