import type { mongo } from 'mongoose';
import type { TestApp } from './test-app.js';

export interface SentCommand {
  /** Its kind and collection, such as `find products`. */
  readonly name: string;
  readonly command: mongo.Document;
}

/** Calls a function with each command that asks for records; stop it with what it gives back. */
export function watchCommands(app: TestApp, onCommand: (sent: SentCommand) => void): () => void {
  const client = app.connection.getClient();
  const record = ({ commandName, command }: mongo.CommandStartedEvent) => {
    const collection: unknown = commandName === 'getMore' ? command.collection : command[commandName];
    if (typeof collection === 'string') onCommand({ name: `${commandName} ${collection}`, command });
  };
  client.on('commandStarted', record);
  return () => void client.off('commandStarted', record);
}

/** The commands that ask for records while a function runs, in their order. */
export async function commandsOf(app: TestApp, run: () => Promise<unknown>): Promise<SentCommand[]> {
  const sent: SentCommand[] = [];
  const stop = watchCommands(app, (command) => sent.push(command));
  try {
    await run();
  } finally {
    stop();
  }
  return sent;
}
