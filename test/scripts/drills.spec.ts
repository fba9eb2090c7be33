import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';

const load = <T>(file: string) => import(join(process.cwd(), file)) as Promise<T>;

interface Steps {
  begin: (step: string) => void;
  end: () => void;
}
const { watchSteps } = await load<{
  watchSteps: (options: {
    limitMs: number;
    tell: (step: string) => void;
    giveUp: (failure: string) => void;
  }) => Steps;
}>('tools/support/steps.js');
const { Connection } = await load<{
  Connection: new (
    url: string,
    limits: { limitMs: number },
  ) => { send: (bytes: string) => Promise<unknown>; close: () => void };
}>('tools/support/connection.js');
const { stopProcess } = await load<{
  stopProcess: (child: unknown, limitMs: number) => Promise<void>;
}>('scripts/support/processes.js');

const LIMIT_MS = 200;

describe('a drill', () => {
  it('is given up with the name of a step that does not end', async () => {
    const told: string[] = [];
    const tell = (step: string) => told.push(step);
    const failure = await new Promise((giveUp) => {
      const { begin } = watchSteps({ limitMs: LIMIT_MS, tell, giveUp });
      begin('first');
      begin('second');
    });
    expect(told).toEqual(['first', 'second']);
    expect(failure).toBe('the step "second" has not ended within 0.2 s');
  });

  it('is not given up when its last step has ended', async () => {
    const failures: string[] = [];
    const { begin, end } = watchSteps({
      limitMs: LIMIT_MS,
      tell: () => undefined,
      giveUp: (failure) => failures.push(failure),
    });
    begin('only');
    end();
    // One that begins later is given up later.
    await new Promise<string>((giveUp) =>
      watchSteps({ limitMs: LIMIT_MS, tell: () => undefined, giveUp }).begin('later'),
    );
    expect(failures).toEqual([]);
  });

  it('does not wait forever for an answer', async () => {
    const server = createServer((socket) => void socket.resume()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as { port: number };
    const connection = new Connection(`http://127.0.0.1:${port}`, { limitMs: LIMIT_MS });
    await expect(connection.send('GET / HTTP/1.1\r\n\r\n')).rejects.toThrow('no answer within 0.2 s');
    await expect(connection.send('GET / HTTP/1.1\r\n\r\n')).rejects.toThrow('closed');
    server.close();
  });

  it('does not wait for a process that has ended, and kills one that does not end', async () => {
    const ended = spawn(process.execPath, ['-e', '']);
    await once(ended, 'exit');
    await stopProcess(ended, LIMIT_MS);

    const code = 'process.on("SIGTERM", () => 0); setInterval(() => 0, 1e4); console.log("ready")';
    const stubborn = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(stubborn.stdout, 'data');
    await expect(stopProcess(stubborn, LIMIT_MS)).rejects.toThrow('did not end within 0.2 s of SIGTERM');
    expect(stubborn.signalCode).toBe('SIGKILL');
  });
});
