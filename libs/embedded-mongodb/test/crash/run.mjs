/**
 * Kills the server at random moments under concurrent writers and checks after every restart that nothing acknowledged is
 * missing: `node test/crash/run.mjs [rounds, 5 by default]`.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { MongoClient } from 'mongodb';
import { disagreements, indexes, storedDisagreements } from './verify.mjs';
import { Writer } from './writer.mjs';

const rounds = Number(process.argv[2] ?? 5);
const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url));
const dir = mkdtempSync(join(tmpdir(), 'crash-'));
const writers = Array.from({ length: 8 }, (_, number) => new Writer(number));

/** The server as a process of its own; resolves when it serves. */
async function start() {
  const child = spawn(process.execPath, [cli, '--dir', dir, '--port', '0'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const line = await Promise.race([once(child.stdout, 'data'), exited.then(() => undefined)]);
  if (!line) throw new Error('the server does not start');
  return { uri: String(line[0]).trim(), kill: (signal) => (child.kill(signal), exited) };
}

async function check(uri) {
  const client = new MongoClient(uri);
  const db = client.db('crash');
  const wrong = await disagreements(db);
  const documents = await db.collection('items').find().toArray();
  for (const writer of writers) {
    const found = writer.found(documents);
    wrong.push(...writer.model.differences(found));
    writer.model.adopt(found);
  }
  wrong.push(...(await checkCounter(db)));
  await client.close();
  return wrong;
}

/** The shared counter holds every acknowledged increment, and at most those that were under way besides. */
async function checkCounter(db) {
  const n = (await db.collection('counters').findOne({ _id: 'shared' }))?.n ?? 0;
  const least = writers.reduce((sum, { increments }) => sum + increments, 0);
  const most = least + writers.filter(({ incrementing }) => incrementing).length;
  for (const writer of writers) Object.assign(writer, { increments: 0, incrementing: false });
  writers[0].increments = n;
  return n >= least && n <= most ? [] : [`counter: ${n}, acknowledged ${least} to ${most}`];
}

async function round() {
  const server = await start();
  const client = new MongoClient(server.uri);
  await client.db('crash').collection('items').createIndexes(indexes);
  await client.close();
  const writing = Promise.all(writers.map((writer) => writer.run(server.uri)));
  await new Promise((resolve) => setTimeout(resolve, 100 + Math.random() * 900));
  await server.kill('SIGKILL');
  await writing;
  const wrong = await storedDisagreements(join(dir, 'lmdb'));
  const again = await start();
  wrong.push(...(await check(again.uri)));
  await again.kill('SIGTERM');
  return wrong;
}

try {
  for (let number = 1; number <= rounds; number++) {
    const wrong = await round();
    if (wrong.length > 0) throw new Error(`round ${number}:\n${wrong.slice(0, 20).join('\n')}`);
  }
  const statements = writers.reduce((sum, writer) => sum + writer.statements, 0);
  const documents = writers.reduce((sum, { model }) => sum + model.documents.size, 0);
  console.log(
    `${rounds} rounds, ${statements} acknowledged statements, ${documents} documents left: nothing lost`,
  );
} finally {
  rmSync(dir, { recursive: true, force: true });
}
