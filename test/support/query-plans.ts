import type { mongo } from 'mongoose';
import type { TestApp } from './test-app.js';

/** One command that the database was sent, and the stages of the plan that it would carry it out by. */
export interface QueryPlan {
  /** Kind of the command, such as `find`. */
  readonly command: string;
  /** Names of all stages, such as `IXSCAN`, the last to run first. */
  readonly stages: readonly string[];
  readonly keysExamined: number;
  readonly documentsExamined: number;
}

const COMMANDS = ['find', 'aggregate', 'count', 'distinct', 'findAndModify', 'update', 'delete'];

/** Parts of an explanation that repeat the question, or show plans that were not chosen. */
const NOT_PLANS = new Set(['command', 'parsedQuery', 'rejectedPlans', '$clusterTime']);

/**
 * Runs a function and explains every command that the service sent to a collection meanwhile: caught from its driver
 * exactly as it was sent, then handed to `explain`.
 */
export async function plansOf(
  app: TestApp,
  collection: string,
  run: () => Promise<unknown>,
): Promise<QueryPlan[]> {
  const client = app.connection.getClient();
  const sent: mongo.CommandStartedEvent[] = [];
  const record = (event: mongo.CommandStartedEvent) => void sent.push(event);
  client.on('commandStarted', record);
  try {
    await run();
  } finally {
    client.off('commandStarted', record);
  }
  const asked = sent.filter(
    ({ commandName, command }) =>
      // What is done in the background has a comment.
      COMMANDS.includes(commandName) && command[commandName] === collection && command.comment === undefined,
  );
  return Promise.all(asked.map((event) => explain(app.database, event)));
}

async function explain(
  database: mongo.Db,
  { commandName, command }: mongo.CommandStartedEvent,
): Promise<QueryPlan> {
  const explained = await database.command({ explain: withoutSession(command), verbosity: 'executionStats' });
  return {
    command: commandName,
    stages: stagesOf(explained),
    keysExamined: figureOf(explained, 'totalKeysExamined'),
    documentsExamined: figureOf(explained, 'totalDocsExamined'),
  };
}

/** The first figure of a name: an explanation has it at a level that depends on the command. */
function figureOf(explained: unknown, name: string): number {
  const found = new RegExp(`"${name}":(\\d+)`).exec(JSON.stringify(explained));
  return Number(found?.[1] ?? 0);
}

/** What belongs to the one time that the command was sent, and no other command may repeat. */
function withoutSession(command: mongo.Document): mongo.Document {
  const { lsid: _, $clusterTime: __, $db: ___, txnNumber: ____, ...rest } = command;
  return rest;
}

function stagesOf(explained: unknown): string[] {
  if (typeof explained !== 'object' || explained === null) return [];
  return Object.entries(explained).flatMap(([key, value]) => {
    if (key === 'stage' && typeof value === 'string') return [value];
    if (NOT_PLANS.has(key)) return [];
    return key.startsWith('$') ? [key, ...stagesOf(value)] : stagesOf(value);
  });
}
