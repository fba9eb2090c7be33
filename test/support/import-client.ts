import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { createInterface } from 'node:readline';

/** An import whose bytes are sent one by one, while its answer is read. */
export class OpenImport {
  private readonly sent: ClientRequest;
  private readonly answer: Promise<IncomingMessage>;
  private lines?: AsyncIterator<string>;

  constructor(url: string, headers: Record<string, string> = {}) {
    const all = { 'Content-Type': 'application/x-ndjson', ...headers };
    this.sent = request(url, { method: 'POST', agent: false, headers: all });
    this.answer = once(this.sent, 'response').then(([answer]) => answer as IncomingMessage);
    // Going away is an error, too.
    this.sent.on('error', () => undefined);
  }

  write(bytes: string | Uint8Array): void {
    this.sent.write(bytes);
  }

  /** The next result; undefined at the end. */
  async next(): Promise<Record<string, unknown> | undefined> {
    this.lines ??= createInterface({ input: await this.answer })[Symbol.asyncIterator]();
    const { value, done } = await this.lines.next();
    return done ? undefined : (JSON.parse(value) as Record<string, unknown>);
  }

  end(): void {
    this.sent.end();
  }

  /** Ends the import, and gives the results that are left. */
  async rest(): Promise<Record<string, unknown>[]> {
    this.end();
    const all = [];
    for (let result = await this.next(); result; result = await this.next()) all.push(result);
    return all;
  }

  /** Resolves when the connection is broken before the answer ends. */
  async broken(): Promise<void> {
    const answer = await this.answer;
    if (!answer.errored) await once(answer, 'error').catch(() => undefined);
    if (answer.complete) throw new Error('The answer is whole.');
  }

  /** Goes away in the middle. */
  async abort(): Promise<void> {
    const answer = await this.answer;
    answer.on('error', () => undefined);
    this.sent.destroy();
    if (!answer.closed) await once(answer, 'close').catch(() => undefined);
  }
}
