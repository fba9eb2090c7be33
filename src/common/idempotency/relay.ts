import { Readable } from 'node:stream';

/**
 * Passes a stream on, except for its last byte, which waits until the end is settled: who gets the whole can rely on what was
 * settled, and where that fails the stream breaks off. It is read to its end even if its reader goes away.
 *
 * @param max how much of the stream is collected. Unit: bytes
 * @param settle gets all that the stream was; nothing if it failed or was longer
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

  /** An answer that nobody reads any more is kept, like any other. */
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
