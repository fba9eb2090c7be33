import { Readable } from 'node:stream';

/** Text gathered before it is handed to the socket. Unit: characters. */
const CHUNK = 32_768;

/** Records that are looked at together while a stream is made. Unit: records. */
const BATCH = 100;

/** What stands around records in a body. */
interface Framing {
  readonly open: string;
  /** Stands between two records. */
  readonly between: string;
  /** Follows each record. */
  readonly after: string;
  readonly close: string;
}

/** One JSON array (RFC 8259). */
export const JSON_ARRAY: Framing = { open: '[', between: ',', after: '', close: ']' };

/** One record a line, as `application/x-ndjson`; no record is an empty body. */
export const NDJSON: Framing = { open: '', between: '', after: '\n', close: '' };

/**
 * Records as a byte stream: they are read as the client takes them, so that memory stays flat, and reading ends when the
 * client goes away. The first record is awaited here, so that a database that does not answer can still become an error
 * response; an error after it breaks the transfer.
 *
 * @param present what a client sees of a record
 */
export async function streamRecords<T>(
  records: AsyncIterable<T>,
  present: (record: T) => object,
  { open, between, after, close }: Framing,
): Promise<Readable> {
  const iterator = records[Symbol.asyncIterator]();
  let step = await iterator.next();
  let before = open;

  async function nextChunk(): Promise<string> {
    let chunk = '';
    for (; !step.done && chunk.length < CHUNK; step = await iterator.next()) {
      chunk += before + JSON.stringify(present(step.value)) + after;
      before = between;
    }
    if (!step.done) return chunk;
    return (chunk === '' && before === open ? open : chunk) + close;
  }

  return new Readable({
    read() {
      nextChunk().then(
        (chunk) => {
          this.push(chunk);
          if (step.done) this.push(null);
        },
        (error: Error) => this.destroy(error),
      );
    },
    destroy(error, done) {
      const ended = iterator.return?.() ?? Promise.resolve();
      ended.then(
        () => done(error),
        () => done(error),
      );
    },
  });
}

/** {@link streamRecords} as one JSON array, for hand-written controllers. */
export function streamJsonArray<T>(
  records: AsyncIterable<T>,
  present: (record: T) => object,
): Promise<Readable> {
  return streamRecords(records, present, JSON_ARRAY);
}

/** What a function makes of records, in batches as they are read: no more than one batch is held at a time. */
export async function* inBatches<T, Made>(
  records: AsyncIterable<T>,
  make: (batch: readonly T[]) => Promise<readonly Made[]>,
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

/** The items of a list, as a stream has them. */
export async function* each<T>(items: Iterable<T>): AsyncGenerator<T, void, undefined> {
  yield* items;
}
