/**
 * Writes the log lines of one turn of the event loop together: under load a system call for each line costs more than the
 * line. What waits when the process exits is written then.
 */
export class LogLines {
  private waiting = '';

  constructor(private readonly out: NodeJS.WritableStream) {
    process.on('exit', () => this.flush());
  }

  /** Takes a whole line with its end. */
  write(line: string): void {
    if (this.waiting === '') setImmediate(() => this.flush());
    this.waiting += line;
  }

  private flush(): void {
    if (this.waiting === '') return;
    this.out.write(this.waiting);
    this.waiting = '';
  }
}
