import { Readable } from 'node:stream';

/** Text gathered before it is handed to the socket. Unit: characters. */
const CHUNK = 32_768;

/**
 * A JSON array as a byte stream: records are read as the client takes them, so that memory stays flat, and reading ends
 * when the client goes away. The first record is awaited here, so that a database that does not answer can still become
 * an error response.
 *
 * @param present what a client sees of a record
 */
export async function streamJsonArray<T>(
  records: AsyncIterable<T>,
  present: (record: T) => object,
): Promise<Readable> {
  const iterator = records[Symbol.asyncIterator]();
  let step = await iterator.next();
  let separator = '[';

  async function nextChunk(): Promise<string> {
    let chunk = '';
    for (; !step.done && chunk.length < CHUNK; step = await iterator.next()) {
      chunk += separator + JSON.stringify(present(step.value));
      separator = ',';
    }
    return step.done ? chunk + (separator === '[' ? '[]' : ']') : chunk;
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
