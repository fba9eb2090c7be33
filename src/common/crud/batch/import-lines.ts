import { PassThrough, pipeline, Readable } from 'node:stream';
import type { StreamableFile } from '@nestjs/common';
import { BodyTooLargeError, MalformedRequestError, ShuttingDownError } from '../../errors/index.js';
import { checkHarmless, NDJSON_TYPE, nextTimeSlice, parseJson } from '../../http/index.js';
import { rawOf, whenClosed } from '../../request/index.js';
import { fileOf } from '../pipeline/record-stream.js';
import { type AnyService, carryOut, MAX_RUN } from './carry-out.js';
import type { Items } from './items.js';
import { type Operation, operationFrom } from './operation.js';

/**
 * Creates a record from each line of a request, and returns a line for each. Lines are read only as fast as results
 * are taken. An import that loses its slot to a client with fewer breaks off. When the process is told to stop, lines
 * already read are answered, and the next gets an error.
 *
 * @throws TooManyStreamsError, OverloadedError if its client, or all together, have too many imports
 */
export function importLines(items: Items, service: AnyService): StreamableFile {
  const { request, reply } = items;
  const slot = request.crudPlatform.streamSlots.take('imports', request);
  whenClosed(rawOf(reply), slot.leave);
  const body = (request.body ?? Readable.from([])) as Readable;
  const { bodyLimit, closing } = request.crudPlatform;
  const isCut = () => closing.aborted && !body.readableEnded;
  const lines = new LineReader(bodyLimit, isCut);
  async function* results(): AsyncGenerator<string, void, undefined> {
    try {
      for await (const read of lines.read(untilClosing(body, closing))) {
        items.received(read.reduce((sum, { bytes }) => sum + (bytes?.length ?? 0), 0));
        await nextTimeSlice();
        const operations = read.map((line) => operationOf(line, bodyLimit));
        const answered = await carryOut(operations, items, service);
        yield answered.map((result, i) => textOf(read[i]?.number, result)).join('');
      }
    } catch (error) {
      // Before the response has begun, the error becomes the whole response.
      if (!(error instanceof MalformedRequestError) || lines.number === 0) throw error;
      yield textOf(lines.number + 1, items.reject(error));
    }
    if (isCut()) yield textOf(lines.number + 1, items.reject(new ShuttingDownError()));
  }
  const response = Readable.from(results(), { objectMode: false });
  slot.lost.addEventListener('abort', () => {
    response.destroy(slot.lost.reason as Error);
    // Otherwise its end would wait for the next line.
    body.destroy();
  });
  return fileOf(response, NDJSON_TYPE, items);
}

/** The bytes of a body until it ends or the server closes; bytes that come later are thrown away. */
function untilClosing(body: Readable, closing: AbortSignal): PassThrough {
  const bytes = new PassThrough();
  const cut = () => {
    body.unpipe(bytes).resume();
    bytes.end();
  };
  // If its client goes away, the bytes end with an error, too.
  pipeline(body, bytes, () => closing.removeEventListener('abort', cut));
  if (closing.aborted) cut();
  closing.addEventListener('abort', cut, { once: true });
  return bytes;
}

function operationOf({ bytes }: Line, bodyLimit: number): Operation {
  return operationFrom(() => {
    if (!bytes) throw new BodyTooLargeError(bodyLimit);
    const body = parseJson(bytes);
    checkHarmless(body);
    return { kind: 'create', body };
  });
}

function textOf(line: number | undefined, result: object): string {
  return `${JSON.stringify({ line, ...result })}\n`;
}

const NEWLINE = 0x0a;
/** The UTF-8 byte order mark, which some programs put at the beginning of a file. */
const BOM = Buffer.from([0xef, 0xbb, 0xbf]);
/** Bytes that make a line blank: tab, carriage return, space. */
const BLANKS = new Set([0x09, 0x0d, 0x20]);

/** A line of a stream, without its line ending. */
interface Line {
  /** Counts from 1, including blank lines. */
  readonly number: number;
  /** Undefined if the line is longer than the limit. */
  readonly bytes?: Buffer;
}

/** Divides a stream into lines. A line that is too long is not kept in memory. */
class LineReader {
  /** Number of lines that have ended. */
  number = 0;
  private length = 0;
  private parts: Buffer[] = [];

  /** @param limit of the length of a line, in bytes. @param isCut whether the stream, and so its last line, was cut off */
  constructor(
    private readonly limit: number,
    private readonly isCut: () => boolean,
  ) {}

  /** Yields the lines that are not blank, as they arrive: the lines that end in one chunk together, a few at a time. */
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
    const [part = Buffer.alloc(0), ...others] = this.parts;
    const line = others.length > 0 ? Buffer.concat(this.parts) : part;
    const hasMark = number === 1 && line.subarray(0, BOM.length).equals(BOM);
    const bytes = hasMark ? line.subarray(BOM.length) : line;
    [this.length, this.parts] = [0, []];
    if (isTooLong) return [{ number }];
    return bytes.every((byte) => BLANKS.has(byte)) ? [] : [{ number, bytes }];
  }
}
