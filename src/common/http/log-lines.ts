/**
 * Writes the log lines of one turn of the event loop together: under load, a system call per line costs more
 * than the line. Lines that still wait when the process exits are written then.
 */
export class LogLines {
  private waiting = '';

  constructor(private readonly out: NodeJS.WritableStream) {
    process.on('exit', () => this.flush());
  }

  /** Takes a complete line, including its line break. */
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
