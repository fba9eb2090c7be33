import { MongoClient } from 'mongodb';
import { parseArgs } from 'node:util';

/** Error 115: the embedded server lacks what is asked for, which is no wrong answer. */
export const notSupported = 115;

/**
 * Runs a generator from the command line: `--seed` repeats it, `--size` says how much it does, `--show` how many differences it
 * prints. Ends the process with 1 when something differs.
 *
 * @param size The size without `--size`: a run of less than twenty seconds.
 * @param generate Called with the run; its differences go to `run.report`.
 */
export async function main(size, generate) {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      size: { type: 'string', default: String(size) },
      show: { type: 'string', default: '5' },
    },
  });
  const run = new Run(Number(values.seed), Number(values.size), Number(values.show));
  const started = Date.now();
  const summary = await generate(run);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(`${summary} with seed ${run.seed} in ${seconds} s: ${run.differences} differences`);
  process.exit(run.differences > 0 ? 1 : 0);
}

/** A run of a generator, and what it found. */
class Run {
  differences = 0;

  constructor(seed, size, show) {
    this.seed = seed;
    this.size = size;
    this.show = show;
  }

  /** Counts a difference, and prints it as long as there are few. */
  report(sentence, details = {}) {
    this.differences++;
    if (this.differences > this.show) return;
    console.log(`\n${sentence}`);
    for (const [name, value] of Object.entries(details)) console.log(`  ${name.padEnd(10)} ${value}`);
  }
}

/** Starts an embedded server in memory, or with the given options; `EMBEDDED_MONGODB_URI` names one that runs already. */
export async function startEmbedded(options = { memory: true }) {
  const running = process.env.EMBEDDED_MONGODB_URI;
  if (running && options.memory) return { uri: running, stop: async () => undefined };
  const { startEmbeddedMongodb } = await import('../../dist/index.js');
  return startEmbeddedMongodb(options);
}

/** The real MongoDB to compare with; undefined where `REFERENCE_MONGODB_URI` names none. */
export function referenceUri() {
  return process.env.REFERENCE_MONGODB_URI || undefined;
}

/** A client of a database that is empty. */
export async function connect(uri, database, options = {}) {
  const client = await new MongoClient(uri, { maxPoolSize: 4, ignoreUndefined: true, ...options }).connect();
  const db = client.db(database);
  await db.dropDatabase();
  return { client, db, close: () => client.close() };
}

/** MongoDB's two query engines disagree on some answers; the documented ones are the classic engine's. */
export async function useClassicEngine({ client }) {
  await client.db('admin').command({ setParameter: 1, internalQueryFrameworkControl: 'forceClassicEngine' });
}

/** What a promise comes to, as `{ value }`, or as `{ code }` of the error that the server answered. */
export async function outcome(promise) {
  try {
    return { value: await promise };
  } catch (error) {
    if (error.code === undefined) throw error;
    return { code: error.code, message: error.message };
  }
}
