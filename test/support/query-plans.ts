import { commandsOf } from './sent-commands.js';
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

/** Runs a function and has every command to a collection explained that the service sent meanwhile. */
export async function plansOf(
  app: TestApp,
  collection: string,
  run: () => Promise<unknown>,
): Promise<QueryPlan[]> {
  const names = COMMANDS.map((command) => `${command} ${collection}`);
  // What is done in the background has a comment.
  const sent = (await commandsOf(app, run)).filter(({ command }) => command.comment === undefined);
  const asked = sent.filter(({ name }) => names.includes(name));
  return Promise.all(
    asked.map(async ({ name, command }) => {
      // What belongs to the one time that the command was sent, no other may repeat.
      const { lsid: _, $clusterTime: __, $db: ___, txnNumber: ____, ...own } = command;
      const explained = await app.database.command({ explain: own, verbosity: 'executionStats' });
      return {
        command: name.split(' ', 1)[0] ?? '',
        stages: stagesOf(explained),
        keysExamined: figureOf(explained, 'totalKeysExamined'),
        documentsExamined: figureOf(explained, 'totalDocsExamined'),
      };
    }),
  );
}

/** The first figure of a name: an explanation has it at a level that depends on the command. */
function figureOf(explained: unknown, name: string): number {
  const found = new RegExp(`"${name}":(\\d+)`).exec(JSON.stringify(explained));
  return Number(found?.[1] ?? 0);
}

function stagesOf(explained: unknown): string[] {
  if (typeof explained !== 'object' || explained === null) return [];
  return Object.entries(explained).flatMap(([key, value]) => {
    if (key === 'stage' && typeof value === 'string') return [value];
    if (NOT_PLANS.has(key)) return [];
    return key.startsWith('$') ? [key, ...stagesOf(value)] : stagesOf(value);
  });
}
