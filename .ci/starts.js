import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

// Starts a service on a free port, and ends with 1 unless it listens and stops in order.
const child = spawn(process.execPath, [process.argv[2]], {
  env: { ...process.env, PORT: '0' },
  stdio: ['ignore', 'pipe', 'inherit'],
});
let listens = false;
for await (const line of createInterface({ input: child.stdout })) {
  if (!line.includes('Listening on')) continue;
  listens = true;
  child.kill();
}
if (child.exitCode === null) await once(child, 'exit');
process.exit(listens ? child.exitCode : 1);
