import type { Socket } from 'node:net';
import { CommandError } from '../errors.js';
import { type Frame, FrameReader } from './frames.js';
import { readRequest, type Request } from './message.js';
import type { Reply } from './reply.js';

/** Answers a command. Exceptions become error replies. */
export type Dispatch = (request: Request, connectionId: number) => Promise<Reply>;

/**
 * Serves one client. Commands are carried out in the order in which they arrive, and bytes that are not a
 * message end the connection.
 */
export function serveConnection(socket: Socket, connectionId: number, dispatch: Dispatch): void {
  const reader = new FrameReader();
  let last = Promise.resolve();
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  socket.on('data', (chunk) => {
    try {
      for (const frame of reader.read(chunk)) {
        last = last.then(() => answer(socket, frame, connectionId, dispatch));
        // The client waits for its answers anyway; reading on would only pile up requests.
        socket.pause();
        void last.finally(() => socket.resume());
      }
    } catch {
      socket.destroy();
    }
  });
}

async function answer(socket: Socket, frame: Frame, connectionId: number, dispatch: Dispatch): Promise<void> {
  if (socket.destroyed) return;
  try {
    const request = readRequest(frame);
    const reply = await dispatch(request, connectionId);
    if (!request.wantsReply || socket.destroyed) return;
    if (!socket.write(request.answer(reply))) await drained(socket);
  } catch (error) {
    socket.destroy();
    if (!(error instanceof CommandError) && !(error instanceof Error)) throw error;
  }
}

function drained(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      socket.off('drain', done).off('close', done);
      resolve();
    };
    socket.on('drain', done).on('close', done);
  });
}
