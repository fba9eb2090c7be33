/** Maximum size of a message including its header, as `hello` announces it. Unit: bytes. */
export const maxMessageBytes = 48_000_000;

const headerBytes = 16;

/** The header that begins every message. */
export interface MessageHeader {
  requestId: number;
  responseTo: number;
  opCode: number;
}

/** A received message: its header and the rest. */
export interface Frame {
  header: MessageHeader;
  body: Buffer;
}

/** A message that cannot be read; its connection is closed. */
export class ProtocolError extends Error {}

/**
 * Divides a stream of bytes into messages.
 *
 * @see https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/#standard-message-header
 */
export class FrameReader {
  private chunks: Buffer[] = [];
  private buffered = 0;
  private wanted = headerBytes;

  /**
   * Takes bytes and yields complete messages.
   *
   * @throws ProtocolError for a length that no message can have.
   */
  *read(chunk: Buffer): Generator<Frame> {
    this.chunks.push(chunk);
    this.buffered += chunk.length;
    while (this.buffered >= this.wanted) {
      // Chunks are joined only if a message may be complete, so that a large one is copied once rather than
      // once per chunk.
      const bytes = this.chunks.length === 1 ? (this.chunks[0] as Buffer) : Buffer.concat(this.chunks);
      const length = bytes.readInt32LE(0);
      if (length < headerBytes || length > maxMessageBytes) {
        throw new ProtocolError(`a message cannot have ${length} bytes`);
      }
      if (bytes.length < length) {
        this.keep(bytes, length);
        return;
      }
      yield { header: readHeader(bytes), body: bytes.subarray(headerBytes, length) };
      this.keep(bytes.subarray(length), headerBytes);
    }
  }

  private keep(bytes: Buffer, wanted: number): void {
    this.chunks = bytes.length > 0 ? [bytes] : [];
    this.buffered = bytes.length;
    this.wanted = wanted;
  }
}

function readHeader(bytes: Buffer): MessageHeader {
  return { requestId: bytes.readInt32LE(4), responseTo: bytes.readInt32LE(8), opCode: bytes.readInt32LE(12) };
}

/** Builds a message from its parts. */
export function writeFrame(
  { requestId, responseTo, opCode }: MessageHeader,
  parts: readonly Uint8Array[],
): Buffer {
  const header = Buffer.alloc(headerBytes);
  header.writeInt32LE(
    parts.reduce((sum, part) => sum + part.length, headerBytes),
    0,
  );
  header.writeInt32LE(requestId, 4);
  header.writeInt32LE(responseTo, 8);
  header.writeInt32LE(opCode, 12);
  return Buffer.concat([header, ...parts]);
}
