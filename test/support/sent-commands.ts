import type { mongo } from 'mongoose';
import type { TestApp } from './test-app.js';

interface SentCommand {
  /** Its kind and collection, such as `find products`. */
  readonly name: string;
  readonly command: mongo.Document;
}

/** The commands that ask for records while a function runs, in their order. */
export async function commandsOf(app: TestApp, run: () => Promise<unknown>): Promise<SentCommand[]> {
  const sent: SentCommand[] = [];
  const client = app.connection.getClient();
  const record = ({ commandName, command }: mongo.CommandStartedEvent) => {
    const collection: unknown = commandName === 'getMore' ? command.collection : command[commandName];
    if (typeof collection === 'string') sent.push({ name: `${commandName} ${collection}`, command });
  };
  client.on('commandStarted', record);
  try {
    await run();
  } finally {
    client.off('commandStarted', record);
  }
  return sent;
}
