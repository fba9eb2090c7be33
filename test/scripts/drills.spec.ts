import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';

const load = <T>(file: string) => import(join(process.cwd(), file)) as Promise<T>;

interface WatchOptions {
  limitMs: number;
  tell: (step: string) => void;
  giveUp: (failure: string) => void;
}
interface Connection {
  send: (bytes: string) => Promise<unknown>;
}
const { watchSteps } = await load<{
  watchSteps: (options: WatchOptions) => { begin: (step: string) => void; end: () => void };
}>('tools/support/steps.js');
const { Connection } = await load<{
  Connection: new (url: string, limits: { limitMs: number }) => Connection;
}>('tools/support/connection.js');
const { stopProcess } = await load<{
  stopProcess: (child: unknown, limitMs: number) => Promise<void>;
}>('scripts/support/processes.js');

const limitMs = 200;

describe('a drill', () => {
  it('is given up with the name of a step that does not end', async () => {
    const tell = jest.fn();
    const failure = await new Promise((giveUp) => {
      const { begin } = watchSteps({ limitMs, tell, giveUp });
      begin('first');
      begin('second');
    });
    expect(tell.mock.calls).toEqual([['first'], ['second']]);
    expect(failure).toBe('the step "second" has not ended within 0.2 s');
  });

  it('is not given up when its last step has ended', async () => {
    const giveUp = jest.fn();
    const tell = () => undefined;
    const { begin, end } = watchSteps({ limitMs, tell, giveUp });
    begin('only');
    end();
    // One that begins later is given up later.
    await new Promise<string>((given) => watchSteps({ limitMs, tell, giveUp: given }).begin('later'));
    expect(giveUp).not.toHaveBeenCalled();
  });

  it('does not wait forever for an answer', async () => {
    const server = createServer((socket) => void socket.resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const connection = new Connection(`http://127.0.0.1:${port}`, { limitMs });
    for (const failure of ['no answer within 0.2 s', 'closed'])
      await expect(connection.send('GET / HTTP/1.1\r\n\r\n')).rejects.toThrow(failure);
    server.close();
  });

  it('does not wait for a process that has ended, and kills one that does not end', async () => {
    const ended = spawn(process.execPath, ['-e', '']);
    await once(ended, 'exit');
    await stopProcess(ended, limitMs);

    const code = 'process.on("SIGTERM", () => 0); setInterval(() => 0, 1e4); console.log("ready")';
    const stubborn = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(stubborn.stdout, 'data');
    await expect(stopProcess(stubborn, limitMs)).rejects.toThrow('did not end within 0.2 s of SIGTERM');
    expect(stubborn.signalCode).toBe('SIGKILL');
  });
});
