/**
 * Puts the same random cases to the embedded server and to a real MongoDB and compares what comes back.
 *
 *   REFERENCE_MONGODB_URI=mongodb://127.0.0.1:27017 npm run differential -w libs/embedded-mongodb -- --cases 3000 --seed 1
 *
 * Ends with 1 when a case differs. `EMBEDDED_MONGODB_URI` names a running server to test instead of one started here.
 */
import { Buffer } from 'node:buffer';
import { BSON, MongoClient } from 'mongodb';
import { parseArgs } from 'node:util';
import { collectionCount, documents, indexes, makeCase } from './cases.mjs';
import { Random } from './random.mjs';
import { reads, Target } from './target.mjs';

const { values: options } = parseArgs({
  options: {
    cases: { type: 'string', default: '3000' },
    seed: { type: 'string', default: '1' },
    show: { type: 'string', default: '10' },
  },
});
const casesPerRound = 40;
/** Rounds that share a set of indexes. */
const roundsPerSetup = 50;
/** The embedded server refuses what it lacks with CommandNotSupported; that is no wrong answer, and is counted apart. */
const notSupported = 115;

const tally = { cases: 0, differences: 0, refused: 0 };
const reference = process.env.REFERENCE_MONGODB_URI;
if (!reference) {
  console.error('Set REFERENCE_MONGODB_URI to a real MongoDB 7.0 that may be written to.');
  process.exit(2);
}
const server = process.env.EMBEDDED_MONGODB_URI ? undefined : await startEmbedded();
const uris = [server?.uri ?? process.env.EMBEDDED_MONGODB_URI, reference];
const started = Date.now();
try {
  await useClassicEngine(reference);
  for (let setup = 0; tally.cases < Number(options.cases); setup++) await runSetup(setup);
} finally {
  await server?.stop();
}
const seconds = ((Date.now() - started) / 1000).toFixed(1);
console.log(
  `${tally.cases} cases with seed ${options.seed} in ${seconds} s: ${tally.differences} differences, ${tally.refused} refused`,
);
process.exit(tally.differences > 0 ? 1 : 0);

async function startEmbedded() {
  const { startEmbeddedMongodb } = await import('../../dist/index.js');
  return startEmbeddedMongodb({ memory: true });
}

/** MongoDB's two query engines disagree on some error codes; the documented ones are the classic engine's. */
async function useClassicEngine(uri) {
  const client = await MongoClient.connect(uri);
  await client.db('admin').command({ setParameter: 1, internalQueryFrameworkControl: 'forceClassicEngine' });
  await client.close();
}

async function runSetup(setup) {
  const targets = await Promise.all(uris.map((uri, side) => Target.connect(uri, `differential_${side}`)));
  const random = new Random(Number(options.seed) * 1_000_003 + setup * 7919);
  for (let collection = 1; collection < collectionCount; collection++) {
    for (const index of indexes(random, collection)) {
      await compare({ kind: 'createIndex', collection, index }, [], (target) =>
        target.createIndex(collection, index),
      );
    }
  }
  for (let round = 0; round < roundsPerSetup && tally.cases < Number(options.cases); round++)
    await runRound();
  await Promise.all(targets.map((target) => target.close()));

  async function runRound() {
    const filling = documents(random);
    for (let collection = 0; collection < collectionCount; collection++) await fill(collection, filling);
    const made = Array.from({ length: casesPerRound }, () => makeCase(random));
    for (const each of made.filter(({ kind }) => !reads.has(kind))) {
      const same = await compare(each, filling, (target) => target.run(each));
      if (!same) await fill(each.collection, filling);
    }
    await Promise.all(
      made
        .filter(({ kind }) => reads.has(kind))
        .map((each) => compare(each, filling, (target) => target.run(each))),
    );
  }

  function fill(collection, filling) {
    return compare({ kind: 'fill', collection }, filling, (target) => target.fill(collection, filling));
  }

  /** @returns Whether both did the same, without an error or a made-up `_id`, so that the next case finds them alike. */
  async function compare(made, filling, act) {
    const [mine, theirs] = await Promise.all(targets.map(act));
    tally.cases++;
    const same = JSON.stringify([mine.lines, mine.after]) === JSON.stringify([theirs.lines, theirs.after]);
    if (mine.error === notSupported && theirs.error !== notSupported) tally.refused++;
    else if (!same && !failAlike(made, mine, theirs)) report(made, filling, mine, theirs);
    return same && mine.error === undefined && mine.upserted === undefined;
  }
}

/** Which of several documents fails first, and what is changed before it, is the planner's affair. */
function failAlike({ multi }, mine, theirs) {
  return multi && mine.error !== undefined && theirs.error !== undefined;
}

function report(made, filling, mine, theirs) {
  tally.differences++;
  if (tally.differences > Number(options.show)) return;
  console.log(`\ncase      ${BSON.EJSON.stringify(made, { relaxed: false })}`);
  for (const [who, { lines, message, after }] of Object.entries({ embedded: mine, reference: theirs })) {
    console.log(`${who.padEnd(9)} ${message ?? ''} ${JSON.stringify(readable(lines))}`);
    if (after && JSON.stringify(mine.after) !== JSON.stringify(theirs.after)) {
      console.log(`    after ${JSON.stringify(readable(after))}`);
    }
  }
  console.log(`documents ${BSON.EJSON.stringify(filling, { relaxed: false })}`);
}

function readable(lines) {
  return lines.map((line) =>
    /^[0-9a-f]{10,}$/.test(line)
      ? BSON.EJSON.stringify(
          BSON.deserialize(Buffer.from(line, 'hex'), { promoteValues: false, bsonRegExp: true }),
        )
      : line,
  );
}
