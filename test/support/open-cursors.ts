import type { mongo } from 'mongoose';
import type { TestApp } from './test-app.js';

/** What a server answers to `find` and `getMore`. */
interface CursorReply {
  cursor?: { id: unknown; firstBatch?: unknown[]; nextBatch?: unknown[] };
}

/**
 * The cursors that the server holds open for the service, by their ids, with the number of records that each has given:
 * kept up from what the server acknowledges to the service's driver.
 */
export function watchCursors(app: TestApp): ReadonlyMap<string, number> {
  const open = new Map<string, number>();
  const client = app.connection.getClient();
  const asked = new Map<number, string>();
  client.on('commandStarted', ({ commandName, requestId, command }: mongo.CommandStartedEvent) => {
    if (commandName === 'getMore') asked.set(requestId, String(command.getMore));
  });
  client.on('commandSucceeded', ({ commandName, requestId, reply }: mongo.CommandSucceededEvent) => {
    if (commandName === 'killCursors') {
      for (const id of (reply as { cursorsKilled: unknown[] }).cursorsKilled) open.delete(String(id));
      return;
    }
    const { cursor } = reply as CursorReply;
    if (!cursor) return;
    const id = asked.get(requestId) ?? String(cursor.id);
    const given = (open.get(id) ?? 0) + (cursor.firstBatch ?? cursor.nextBatch ?? []).length;
    if (String(cursor.id) === '0') open.delete(id);
    else open.set(id, given);
  });
  return open;
}
