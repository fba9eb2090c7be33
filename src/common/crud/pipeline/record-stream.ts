import { Readable } from 'node:stream';
import { StreamableFile } from '@nestjs/common';
import { sendProblem } from '../../errors/index.js';
import { type BatchRequest, NDJSON_TYPE, type Slot } from '../../http/index.js';
import type { HttpRequest } from '../../request/index.js';

/** Amount of text that is collected before it is handed to the socket. Unit: characters. */
const CHUNK = 32_768;

/** Number of records that are processed together while streaming. Unit: records. */
const BATCH = 100;

/** The text around the records in a body. */
export interface Framing {
  /** Media type of the body. */
  readonly type: string;
  readonly open: string;
  /** Goes between two records. */
  readonly between: string;
  /** Follows each record. */
  readonly after: string;
  readonly close: string;
  /** Writes one record. @default as JSON */
  readonly write?: (record: object) => string;
}

/** One JSON array (RFC 8259). */
export const JSON_ARRAY: Framing = {
  type: 'application/json',
  open: '[',
  between: ',',
  after: '',
  close: ']',
};

/** A page: its records, then the other members. */
export function pageFraming(rest: object): Framing {
  const members = JSON.stringify(rest).slice(1);
  return { ...JSON_ARRAY, open: '{"results":[', close: members === '}' ? ']}' : `],${members}` };
}

/** One record per line, as `application/x-ndjson`. Without records the body is empty. */
export const NDJSON: Framing = { type: NDJSON_TYPE, open: '', between: '', after: '\n', close: '' };

/**
 * Sends records, as the client sees them, as fast as it takes them. Reading ends when the client goes away or loses its
 * slot. The first record is awaited here, so that an unavailable database can still become an error response; a later
 * error breaks the transfer.
 */
export async function streamRecords(
  records: AsyncIterable<object>,
  { open, between, after, close, write = JSON.stringify }: Framing,
  slot: Slot,
): Promise<Readable> {
  const iterator = records[Symbol.asyncIterator]();
  let step: IteratorResult<object>;
  try {
    step = await slot.turn(() => iterator.next());
    slot.lost.throwIfAborted();
  } catch (error) {
    slot.leave();
    throw error;
  }
  let before = open;

  async function nextChunk(): Promise<string> {
    let chunk = '';
    for (; !step.done && chunk.length < CHUNK; step = await iterator.next()) {
      chunk += before + write(step.value) + after;
      before = between;
    }
    if (!step.done) return chunk;
    return (chunk === '' && before === open ? open : chunk) + close;
  }

  async function* chunks(): AsyncGenerator<string> {
    do {
      yield await slot.turn(nextChunk);
    } while (!step.done);
  }
  const stream = Readable.from(chunks(), { objectMode: false });
  stream.once('close', () => {
    slot.leave();
    void iterator.return?.().catch(() => undefined);
  });
  // Without its end, the response cannot be mistaken for a whole one.
  slot.lost.addEventListener('abort', () => stream.destroy(slot.lost.reason as Error));
  return stream;
}

/** A response that is made while it is sent. */
class StreamedResponse extends StreamableFile {
  toJSON(): never {
    throw new Error(
      'An interceptor has put a response that is a stream into another value. Let it return each StreamableFile as it is.',
    );
  }
}

/** A file whose error is a problem: Express asks the file what to do about one, and that of Nest sends a text. */
export function fileOf(body: Readable, type: string, { request, reply }: BatchRequest): StreamableFile {
  const file = new StreamedResponse(body, { type });
  return file.setErrorHandler((error) => sendProblem(error, request, reply));
}

/**
 * Streams records as one JSON array, for hand-written controllers.
 *
 * @throws TooManyStreamsError, OverloadedError if the client, or the process, is sending too many lists
 */
export function streamJsonArray<T>(
  records: AsyncIterable<T>,
  present: (record: T) => object,
  request: HttpRequest,
): Promise<Readable> {
  const shown = inBatches(records, (batch) => batch.map(present));
  return streamRecords(shown, JSON_ARRAY, request.crudPlatform.streamSlots.take('lists', request));
}

/** Maps records in batches as they are read, holding no more than one batch at a time. */
export async function* inBatches<T, Made>(
  records: AsyncIterable<T>,
  make: (batch: readonly T[]) => readonly Made[] | Promise<readonly Made[]>,
): AsyncGenerator<Made, void, undefined> {
  let batch: T[] = [];
  for await (const record of records) {
    batch.push(record);
    if (batch.length < BATCH) continue;
    yield* await make(batch);
    batch = [];
  }
  yield* await make(batch);
}
