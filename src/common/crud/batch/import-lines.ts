import { PassThrough, Readable } from 'node:stream';
import { BodyTooLargeError, MalformedRequestError, ShuttingDownError } from '../../errors/index.js';
import { checkHarmless, parseJson } from '../../http/index.js';
import { carryOut } from './carry-out.js';
import type { AnyService } from './independence.js';
import type { Items } from './items.js';
import { type Line, LineReader } from './line-reader.js';
import type { Operation } from './operation.js';

/**
 * Creates a record of each line of a request, and answers each with a line. No more lines are read than there are results
 * taken: neither the request nor its answer is ever held in memory. When the process is told to stop, what has been read is
 * answered, and the line after it is told so.
 */
export function importLines(items: Items, service: AnyService): Readable {
  const { bodyLimit } = items.request.routeOptions;
  const body = (items.request.body ?? Readable.from([])) as Readable;
  const { closing } = items.request.server.carriedRequests;
  const lines = new LineReader(bodyLimit, () => closing.aborted && !body.readableEnded);
  async function* results(): AsyncGenerator<string, void, undefined> {
    try {
      for await (const read of lines.read(untilClosing(body, closing))) {
        const operations = read.map((line) => operationOf(line, bodyLimit));
        const answered = await carryOut(operations, items, service);
        yield answered.map((result, i) => textOf(read[i]?.number, result)).join('');
      }
    } catch (error) {
      // Of an answer that has not begun, the error is the whole.
      if (!(error instanceof MalformedRequestError) || lines.number === 0) throw error;
      yield textOf(lines.number + 1, items.refuse(error));
    }
    if (closing.aborted && !body.readableEnded) {
      yield textOf(lines.number + 1, items.refuse(new ShuttingDownError()));
    }
  }
  return Readable.from(results(), { objectMode: false });
}

/** The bytes of a body up to its end, or until the server closes; what comes then is thrown away. */
function untilClosing(body: Readable, closing: AbortSignal): PassThrough {
  const bytes = body.pipe(new PassThrough());
  const cut = () => {
    body.unpipe(bytes).resume();
    bytes.end();
  };
  if (closing.aborted) cut();
  closing.addEventListener('abort', cut, { once: true });
  // What is wrong with the body as a whole.
  body.once('error', (error) => bytes.destroy(error));
  bytes.once('close', () => closing.removeEventListener('abort', cut));
  // A client that goes away ends no stream: without this, its last line would be waited for.
  body.once('close', () => {
    if (!body.readableEnded) bytes.destroy();
  });
  return bytes;
}

function operationOf({ bytes }: Line, bodyLimit: number): Operation {
  if (!bytes) return { kind: 'malformed', error: new BodyTooLargeError(bodyLimit) };
  try {
    const body = parseJson(bytes);
    checkHarmless(body);
    return { kind: 'create', body };
  } catch (error) {
    if (error instanceof MalformedRequestError) return { kind: 'malformed', error };
    throw error;
  }
}

function textOf(line: number | undefined, result: object): string {
  return `${JSON.stringify({ line, ...result })}\n`;
}
