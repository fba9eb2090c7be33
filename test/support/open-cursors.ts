import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { Readable } from 'node:stream';
import type { mongo } from 'mongoose';
import type { TestApp } from './test-app.js';

/** What a server answers to `find`, `getMore` and `killCursors`. */
interface CursorReply {
  cursorsKilled?: unknown[];
  cursor?: { id: unknown; firstBatch?: unknown[]; nextBatch?: unknown[] };
}

/** How many records each open cursor has given, by its id, as the server acknowledges to the service's driver. */
export function watchCursors(app: TestApp): ReadonlyMap<string, number> {
  const open = new Map<string, number>();
  const client = app.connection.getClient();
  const asked = new Map<number, string>();
  client.on('commandStarted', ({ commandName, requestId, command }: mongo.CommandStartedEvent) => {
    if (commandName === 'getMore') asked.set(requestId, String(command.getMore));
  });
  client.on('commandSucceeded', ({ requestId, reply }: mongo.CommandSucceededEvent) => {
    const { cursor, cursorsKilled = [] } = reply as CursorReply;
    for (const id of cursorsKilled) open.delete(String(id));
    if (!cursor) return;
    const id = asked.get(requestId) ?? String(cursor.id);
    const given = (open.get(id) ?? 0) + (cursor.firstBatch ?? cursor.nextBatch ?? []).length;
    if (String(cursor.id) === '0') open.delete(id);
    else open.set(id, given);
  });
  return open;
}

/** Sends GETs of which no more is read than a test asks for, and ends all so far; they end with the test, too. */
export function useUnhurriedReaders(app: TestApp) {
  const open: ClientRequest[] = [];
  const endAll = () => open.splice(0).forEach((sent) => sent.destroy());
  afterEach(endAll);
  const start = async (path: string, headers: Record<string, string> = {}) => {
    const sent = request(app.url + path, { headers }).end();
    open.push(sent);
    sent.on('error', () => undefined);
    return ((await once(sent, 'response')) as [IncomingMessage])[0];
  };
  return { start, endAll };
}

export async function restOf(response: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
