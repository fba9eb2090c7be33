import type { mongo } from 'mongoose';

/** One command that the database was sent, and the stages of the plan that it would carry it out by. */
export interface QueryPlan {
  /** Kind of the command, such as `find`. */
  readonly command: string;
  /** Names of all stages, such as `IXSCAN`, the last to run first. */
  readonly stages: readonly string[];
}

/** The entry of the database profiler (https://www.mongodb.com/docs/manual/reference/database-profiler/). */
interface ProfiledOperation {
  op: string;
  command: Record<string, unknown>;
}

const COMMANDS = ['find', 'aggregate', 'count', 'distinct', 'findAndModify'] as const;

/** Parts of an explanation that repeat the question, or show plans that were not chosen. */
const NOT_PLANS = new Set(['command', 'parsedQuery', 'rejectedPlans', '$clusterTime']);

/**
 * Runs a function and explains every command that a collection was sent meanwhile: caught by the profiler exactly as the
 * service sent it, then handed to `explain`.
 */
export async function plansOf(
  database: mongo.Db,
  collection: string,
  run: () => Promise<unknown>,
): Promise<QueryPlan[]> {
  const profile = database.collection<ProfiledOperation>('system.profile');
  await database.setProfilingLevel('off');
  await profile.drop().catch(() => false);
  await database.setProfilingLevel('all');
  try {
    await run();
  } finally {
    await database.setProfilingLevel('off');
  }
  const ns = `${database.databaseName}.${collection}`;
  const operations = await profile
    .find({ ns, op: { $in: ['query', 'command', 'update', 'remove'] } })
    .toArray();
  return Promise.all(operations.map((operation) => explain(database, collection, operation)));
}

async function explain(
  database: mongo.Db,
  collection: string,
  operation: ProfiledOperation,
): Promise<QueryPlan> {
  const { name, command } = commandOf(collection, operation);
  const explained = await database.command({ explain: command, verbosity: 'executionStats' });
  return { command: name, stages: stagesOf(explained) };
}

function commandOf(collection: string, { op, command }: ProfiledOperation) {
  if (op === 'update')
    return { name: op, command: { update: collection, updates: [withoutSession(command)] } };
  if (op === 'remove')
    return { name: op, command: { delete: collection, deletes: [withoutSession(command)] } };
  const name = COMMANDS.find((candidate) => candidate in command);
  if (!name) throw new Error(`An unknown command: ${Object.keys(command).join(', ')}.`);
  return { name, command: withoutSession(command) };
}

/** What belongs to the one time that the command was sent, and no other command may repeat. */
function withoutSession(command: Record<string, unknown>): Record<string, unknown> {
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
