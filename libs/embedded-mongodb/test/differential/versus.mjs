import { Buffer } from 'node:buffer';
import { parseArgs } from 'node:util';
import { BSON, MongoClient } from 'mongodb';
import { Random } from './random.mjs';

/** What the embedded server answers where it lacks something; that is no wrong answer, and is counted apart. */
const notSupported = 115;
const collection = 'c';

/**
 * Puts the same random commands to the embedded server and to the real MongoDB that `REFERENCE_MONGODB_URI` names, and ends the
 * process with 1 where an answer differs: documents byte for byte, of errors the code.
 *
 * Options of the command line: `--seed`, `--cases`, and `--show` for how many differences are printed.
 *
 * @param subject Names the generator.
 * @param makeRound Makes the documents of a round and the commands over them, which change nothing. With `anyOrder` the documents
 *   of an answer may come in any order.
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
    const { documents, commands, anyOrder = false } = makeRound(random);
    for (const database of databases) await fill(database, documents);
    const kept = commands.slice(0, Number(options.cases) - tally.cases);
    await Promise.all(kept.map((command) => compare(command, documents, anyOrder)));
  }
  for (const client of clients) await client.close();
  await server.stop();
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(
    `${subject}: ${tally.cases} cases with seed ${options.seed} in ${seconds} s: ${tally.differences} differences, ` +
      `${tally.refused} refused, ${tally.errors} errors alike`,
  );
  process.exit(tally.differences > 0 ? 1 : 0);

  async function compare(command, documents, anyOrder) {
    tally.cases++;
    const [mine, theirs] = await Promise.all(
      databases.map((database) => answer(database, command, anyOrder)),
    );
    if (mine.code === notSupported) tally.refused++;
    else if (mine.text !== theirs.text) report(command, documents, mine, theirs);
    else if (mine.code !== undefined) tally.errors++;
  }

  function report(command, documents, mine, theirs) {
    tally.differences++;
    if (tally.differences > Number(options.show)) return;
    console.log(`\ncommand   ${shown(command)}\nembedded  ${mine.shown}\nreference ${theirs.shown}`);
    const wrong = documents.filter(({ _id }) => mine.byId?.get(_id) !== theirs.byId?.get(_id));
    console.log(
      `documents ${(wrong.length > 0 ? wrong : documents).slice(0, 5).map(shown).join('\n          ')}`,
    );
  }
}

async function fill(database, documents) {
  // MongoDB is told to create the collection first: several connections may want it at once.
  await database.dropDatabase();
  await database.createCollection(collection);
  await database.command({ insert: collection, documents });
}

async function answer(database, command, anyOrder) {
  try {
    const found = await database.runCursorCommand(command, { raw: true }).toArray();
    const lines = found.map((each) => Buffer.from(each).toString('hex'));
    if (anyOrder) lines.sort();
    const decoded = found.map((each) =>
      BSON.deserialize(Buffer.from(each), { promoteValues: false, bsonRegExp: true }),
    );
    const byId = new Map(decoded.map((each) => [Number(each._id), shown(each)]));
    return { text: lines.join(), shown: decoded.map(shown).join(' ').slice(0, 1_500), byId };
  } catch (error) {
    if (error.code === undefined) throw error;
    return { code: error.code, text: `error ${error.code}`, shown: `error ${error.code} ${error.message}` };
  }
}

function shown(value) {
  return BSON.EJSON.stringify(value, { relaxed: false }).replace(/\{"\$numberInt":"(-?\d+)"\}/g, '$1');
}
