import { Buffer } from 'node:buffer';
import { parseArgs } from 'node:util';
import { BSON, MongoClient } from 'mongodb';
import { Random } from './random.mjs';

/** What the embedded server answers where it lacks something; that is no wrong answer, and is counted apart. */
const notSupported = 115;
const collection = 'c';

/**
 * Puts the same random commands to the embedded server and to the real MongoDB that `REFERENCE_MONGODB_URI` names, and ends the
 * process with 1 where an answer differs: documents with the type of every value, of errors the code.
 *
 * Options of the command line: `--seed`, `--cases`, and `--show` for how many differences are printed.
 *
 * @param subject Names the generator.
 * @param makeRound Makes the documents of a round, the commands over them, which change nothing, and of a command the leeway: with
 *   `anyOrder` the documents of its answer may come in any order, with `anyFieldOrder` the fields of each; with `anyError` it may
 *   fail with either of several errors.
 */
export async function versus(subject, makeRound) {
  const { values: options } = parseArgs({
    options: {
      cases: { type: 'string', default: '3000' },
      seed: { type: 'string', default: '1' },
      show: { type: 'string', default: '10' },
    },
  });
  const reference = process.env.REFERENCE_MONGODB_URI;
  if (!reference) {
    console.error('Set REFERENCE_MONGODB_URI to a real MongoDB 7.0 that may be written to.');
    process.exit(2);
  }
  const { startEmbeddedMongodb } = await import('../../dist/index.js');
  const server = await startEmbeddedMongodb({ memory: true });
  const clients = await Promise.all([server.uri, reference].map((uri) => MongoClient.connect(uri)));
  const databases = clients.map((client) => client.db(`versus_${subject.replace(/\W+/g, '_')}`));
  // MongoDB's two query engines disagree on some error codes; the documented ones are the classic engine's.
  await clients[1]
    .db('admin')
    .command({ setParameter: 1, internalQueryFrameworkControl: 'forceClassicEngine' });

  const random = new Random(Number(options.seed));
  const tally = { cases: 0, differences: 0, refused: 0, errors: 0 };
  const started = Date.now();
  while (tally.cases < Number(options.cases)) {
    const { documents, commands, leeway = () => ({}) } = makeRound(random);
    for (const database of databases) await fill(database, documents);
    const kept = commands.slice(0, Number(options.cases) - tally.cases);
    await Promise.all(kept.map((command) => compare(command, documents, leeway(command))));
  }
  for (const client of clients) await client.close();
  await server.stop();
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(
    `${subject}: ${tally.cases} cases with seed ${options.seed} in ${seconds} s: ${tally.differences} differences, ` +
      `${tally.refused} refused, ${tally.errors} errors alike`,
  );
  process.exit(tally.differences > 0 ? 1 : 0);

  async function compare(command, documents, leeway) {
    tally.cases++;
    const [mine, theirs] = await Promise.all(databases.map((each) => answer(each, command, leeway)));
    const bothFail = mine.code !== undefined && theirs.code !== undefined;
    if (mine.code === notSupported) tally.refused++;
    else if (leeway.anyError && bothFail) tally.errors++;
    else if (mine.lines.join() !== theirs.lines.join()) report(command, documents, mine, theirs);
    else if (mine.code !== undefined) tally.errors++;
  }

  /** Prints what differs: of two lists of documents the first place where they part, and the documents they came from. */
  function report(command, documents, mine, theirs) {
    tally.differences++;
    if (tally.differences > Number(options.show)) return;
    const at = mine.lines.findIndex((line, index) => line !== theirs.lines[index]);
    const place = at < 0 ? mine.lines.length : at;
    const [first, second] = [mine, theirs].map((each) => each.shown[place] ?? each.shown[0] ?? 'nothing');
    console.log(`\ncommand   ${shown(command)}\nembedded  ${first}\nreference ${second}`);
    const origin = documents.filter(({ _id }) => second.startsWith(`{"_id":${_id},`));
    for (const each of origin.length > 0 ? origin : documents.slice(0, 3))
      console.log(`document  ${shown(each)}`);
  }
}

async function fill(database, documents) {
  // MongoDB is told to create the collection first: several connections may want it at once.
  await database.dropDatabase();
  await database.createCollection(collection);
  await database.command({ insert: collection, documents });
}

async function answer(database, command, { anyOrder, anyFieldOrder }) {
  try {
    const found = await database.runCursorCommand(command, { raw: true }).toArray();
    const results = found.map((each) => {
      const decoded = BSON.deserialize(Buffer.from(each), { promoteValues: false, bsonRegExp: true });
      return { line: shown(anyFieldOrder ? inOrder(decoded) : decoded), text: shown(decoded) };
    });
    if (anyOrder) results.sort((a, b) => (a.line < b.line ? -1 : 1));
    return { lines: results.map(({ line }) => line), shown: results.map(({ text }) => text) };
  } catch (error) {
    if (error.code === undefined) throw error;
    return {
      code: error.code,
      lines: [`error ${error.code}`],
      shown: [`error ${error.code} ${error.message}`],
    };
  }
}

function inOrder(document) {
  return Object.fromEntries(Object.entries(document).sort(([a], [b]) => (a < b ? -1 : 1)));
}

function shown(value) {
  return BSON.EJSON.stringify(value, { relaxed: false }).replace(/\{"\$numberInt":"(-?\d+)"\}/g, '$1');
}
