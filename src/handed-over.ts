import type { SendHandle } from 'node:child_process';
import type { Worker } from 'node:cluster';

/**
 * Breaks the connection that a process was handed and had not taken when it was killed. Node keeps it open and
 * waits for the process's reply forever, and so would the client.
 */
export function breakWhatItNeverTook({ process }: Worker): void {
  // The next one is handed over only once this one is taken. The primary then closes its own end of it, and
  // closing it again does nothing.
  let last: SendHandle;
  const send = process.send.bind(process) as (message: unknown, ...rest: unknown[]) => boolean;
  process.send = (message: unknown, ...rest: unknown[]) => {
    const [handle] = rest as SendHandle[];
    last = handle ?? last;
    return send(message, ...rest);
  };
  process.once('exit', (code) => {
    // One that has ended in order has handed back what it did not take.
    if (code !== 0) (last as { close(): void } | undefined)?.close();
  });
}
