import { Readable } from 'node:stream';

/**
 * Passes a stream on, except for its last byte, which waits for `settle`. A reader who gets the whole stream
 * can rely on that, and if it fails, the stream breaks off. The stream is read to its end even if its reader
 * goes away.
 *
 * @param max maximum amount of the stream to collect. Unit: bytes
 * @param settle receives the whole stream, or nothing if it failed or was longer
 */
export function relay(
  stream: Readable,
  max: number,
  settle: (body: Buffer | undefined) => Promise<void>,
): Readable {
  const chunks: Buffer[] = [];
  let length = 0;
  const collect = (chunk: Buffer | string): Buffer => {
    const bytes = Buffer.from(chunk as Buffer);
    length += bytes.length;
    if (length <= max) chunks.push(bytes);
    else chunks.length = 0;
    return bytes;
  };
  const end = () => settle(length > max ? undefined : Buffer.concat(chunks));

  /** Reads on without a reader, since the answer is still stored. */
  async function drain(): Promise<void> {
    try {
      for await (const chunk of stream) {
        collect(chunk as Buffer | string);
        if (length > max) break;
      }
      await end();
    } catch {
      await settle(undefined);
    }
  }

  async function* passOn(): AsyncGenerator<Buffer> {
    let isAtEnd = false;
    try {
      let held: Buffer = Buffer.alloc(0);
      for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
        const bytes = Buffer.concat([held, collect(chunk as Buffer | string)]);
        held = bytes.subarray(-1);
        if (bytes.length > 1) yield bytes.subarray(0, -1);
      }
      isAtEnd = true;
      await end();
      if (held.length > 0) yield held;
    } finally {
      if (!isAtEnd) await drain();
    }
  }
  return Readable.from(passOn(), { objectMode: false });
}
