import { setTimeout as pause } from 'node:timers/promises';
import { Installation, tenantOf } from '../support/installation.js';
import { Connection, requestOf } from './support/connection.js';
import { Mongod } from '../support/mongod.js';

const CLIENTS = 50;
/** Maximum random time before a server is killed. Unit: milliseconds. */
const LIFE_MS = 1_500;
/** Longest answer, also while there is no database. Unit: milliseconds. */
const MAX_ANSWER_MS = 5_000;
/** How long a client waits after a failure. Unit: milliseconds. */
const RETRY_MS = 100;

/**
 * Kills a standalone MongoDB repeatedly while posts are created: every acknowledged post must exist, and every answer comes in
 * time. The short form does not compare times, which depend on the machine.
 */
export default async function mongodKill({ short, begin }) {
  if (!Mongod.available)
    return { figures: { skipped: 'there is no mongod; set MONGOD to the path of one' }, failures: [] };
  const kills = short ? 2 : 20;
  const mongod = new Mongod();
  await mongod.start();
  const installation = new Installation({ uri: mongod.uri });
  const ledger = [];
  let over = false;
  let failed = 0;
  let slowest = 0;
  try {
    await installation.startService('off');
    const create = requestOf('POST', '/posts/api', {
      token: installation.token(tenantOf(1)),
      body: { title: 'Release notes' },
    });
    const clients = Array.from({ length: CLIENTS }, async () => {
      const connection = new Connection(installation.url);
      while (!over) {
        const { status, text, ms } = await connection.send(create);
        slowest = Math.max(slowest, ms);
        if (status === 201) ledger.push(JSON.parse(text)._id);
        else {
          failed += 1;
          await pause(RETRY_MS);
        }
      }
      connection.close();
    });
    for (let kill = 0; kill < kills; kill++) {
      begin(`kill ${kill + 1} of ${kills}`);
      const known = ledger.length;
      // Only a server that is working can lose something.
      while (ledger.length < known + CLIENTS) await pause(5);
      await pause(Math.random() * LIFE_MS);
      await mongod.kill();
      await mongod.start();
    }
    begin('end');
    over = true;
    await Promise.all(clients);
    const lost = await missing(installation, ledger);
    const failures = [];
    if (lost.length > 0) failures.push(`${lost.length} acknowledged posts are not there`);
    if (!short && slowest > MAX_ANSWER_MS) failures.push(`an answer took longer than ${MAX_ANSWER_MS} ms`);
    return {
      figures: {
        kills,
        acknowledged: ledger.length,
        'answered with an error': failed,
        'slowest answer': `${slowest.toFixed(0)} ms`,
        lost: lost.length,
      },
      failures,
    };
  } finally {
    over = true;
    await installation.remove().finally(() => mongod.remove());
  }
}

/** The posts of a ledger that the database lacks. */
async function missing({ client }, ledger) {
  const posts = client
    .db()
    .collection('posts')
    .find({}, { projection: { _id: 1 } });
  const stored = new Set((await posts.toArray()).map(({ _id }) => String(_id)));
  return ledger.filter((id) => !stored.has(id));
}
