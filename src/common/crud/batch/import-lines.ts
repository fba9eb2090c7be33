import { PassThrough, Readable } from 'node:stream';
import {
  BodyTooLargeError,
  DomainError,
  MalformedRequestError,
  ShuttingDownError,
} from '../../errors/index.js';
import { checkHarmless, nextTimeSlice, parseJson } from '../../http/index.js';
import { rawOf, whenClosed } from '../../platform/index.js';
import { carryOut } from './carry-out.js';
import type { AnyService } from './independence.js';
import type { Items } from './items.js';
import { type Line, LineReader } from './line-reader.js';
import type { Operation } from './operation.js';

/**
 * Creates a record from each line of a request, and answers each with a line. Lines are read only as fast as
 * results are taken, so neither the request nor the response is ever held in memory. An import that loses its
 * place to a client with fewer breaks off. When the process is told
 * to stop, the lines already read are answered, and the line after them gets an error.
 *
 * @throws TooManyStreamsError, OverloadedError if its client, or all together, have too many imports
 */
export function importLines(items: Items, service: AnyService): Readable {
  const { request, reply } = items;
  const place = request.platform.transfers.place('imports', request);
  whenClosed(rawOf(reply), place.leave);
  const body = (request.body ?? Readable.from([])) as Readable;
  const { bodyLimit, carriedRequests } = request.platform;
  const { closing } = carriedRequests;
  const lines = new LineReader(bodyLimit, () => closing.aborted && !body.readableEnded);
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
      yield textOf(lines.number + 1, items.refuse(error));
    }
    if (closing.aborted && !body.readableEnded) {
      yield textOf(lines.number + 1, items.refuse(new ShuttingDownError()));
    }
  }
  const answer = Readable.from(results(), { objectMode: false });
  place.lost.addEventListener('abort', () => {
    answer.destroy(place.lost.reason as Error);
    // Otherwise its end would wait for the next line.
    body.destroy();
  });
  return answer;
}

/** The bytes of a body until it ends or the server closes; bytes that come later are thrown away. */
function untilClosing(body: Readable, closing: AbortSignal): PassThrough {
  const bytes = body.pipe(new PassThrough());
  const cut = () => {
    body.unpipe(bytes).resume();
    bytes.end();
  };
  if (closing.aborted) cut();
  closing.addEventListener('abort', cut, { once: true });
  // An error of the body as a whole.
  body.once('error', (error) => bytes.destroy(error));
  bytes.once('close', () => closing.removeEventListener('abort', cut));
  // A stream does not end when its client goes away: without this, its last line would be waited for.
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
    if (error instanceof DomainError) return { kind: 'malformed', error };
    throw error;
  }
}

function textOf(line: number | undefined, result: object): string {
  return `${JSON.stringify({ line, ...result })}\n`;
}
