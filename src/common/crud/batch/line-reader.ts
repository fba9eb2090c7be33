import { MAX_RUN } from './runs.js';

const NEWLINE = 0x0a;
/** The UTF-8 byte order mark, which some programs put at the beginning of a file. */
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
/** Bytes that make a line blank: tab, carriage return, space. */
const BLANKS = new Set([0x09, 0x0d, 0x20]);

/** A line of a stream, without its line ending. */
export interface Line {
  /** Counts from 1, including blank lines. */
  readonly number: number;
  /** Undefined if the line is longer than the limit. */
  readonly bytes?: Buffer;
}

/** Divides a stream into lines. A line that is too long is not kept in memory. */
export class LineReader {
  /** Number of lines that have ended. */
  number = 0;
  private length = 0;
  private parts: Buffer[] = [];

  /**
   * @param limit Maximum length of a line. Unit: bytes.
   * @param isCut whether the stream was cut off, so that its last line is not a line
   */
  constructor(
    private readonly limit: number,
    private readonly isCut: () => boolean,
  ) {}

  /**
   * Yields the lines that are not blank, as they arrive: the lines that end in one chunk together, a few at a
   * time.
   */
  async *read(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line[], void, undefined> {
    for await (const chunk of chunks) {
      let lines: Line[] = [];
      let begin = 0;
      for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, begin)) {
        this.add(chunk.subarray(begin, end));
        begin = end + 1;
        lines.push(...this.endLine());
        if (lines.length >= MAX_RUN) {
          yield lines;
          lines = [];
        }
      }
      this.add(chunk.subarray(begin));
      if (lines.length > 0) yield lines;
    }
    if (this.isCut()) return;
    const last = this.endLine();
    if (last.length > 0) yield last;
  }

  private add(part: Buffer): void {
    this.length += part.length;
    if (this.length > this.limit) this.parts = [];
    else if (part.length > 0) this.parts.push(part);
  }

  private endLine(): Line[] {
    const number = ++this.number;
    const isTooLong = this.length > this.limit;
    const bytes = withoutMark(this.parts.length === 1 ? this.parts[0] : Buffer.concat(this.parts), number);
    [this.length, this.parts] = [0, []];
    if (isTooLong) return [{ number }];
    return bytes.every((byte) => BLANKS.has(byte)) ? [] : [{ number, bytes }];
  }
}

function withoutMark(bytes: Buffer = Buffer.alloc(0), number: number): Buffer {
  return number === 1 && bytes.subarray(0, BOM.length).equals(BOM) ? bytes.subarray(BOM.length) : bytes;
}
