import { once } from 'node:events';
import type { Socket } from 'node:net';
import { deserialize, type Document, serialize } from 'bson';

/** Four bytes, the lowest first. */
export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

/** A message of the wire protocol; `length` may say something other than the truth. */
export function frame(opCode: number, parts: readonly Uint8Array[], length?: number): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([int32(length ?? body.length + 16), int32(1), int32(0), int32(opCode), body]);
}

/** A command as OP_MSG. */
export function opMsg(command: Document): Buffer {
  return frame(2013, [int32(0), Buffer.from([0]), serialize(command)]);
}

/** The document of the next reply on a connection. */
export async function replyTo(socket: Socket): Promise<Document> {
  let bytes = Buffer.alloc(0);
  do bytes = Buffer.concat([bytes, ...((await once(socket, 'data')) as [Buffer])]);
  while (bytes.length < 16 || bytes.length < bytes.readInt32LE());
  return deserialize(bytes.subarray(21));
}
