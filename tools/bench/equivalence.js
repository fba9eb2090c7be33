import assert from 'node:assert/strict';
import mongoose from 'mongoose';
import { PAGE, todoOf } from './operations.js';

const SAMPLES = 5;
const FIELDS = ['_id', 'title', 'description', 'completed', 'dueAt', 'createdAt', 'updatedAt'];
/** Bodies that must be rejected. */
const REFUSED = [
  {},
  { ...todoOf('A field too many'), owner: 'me' },
  { ...todoOf('A text for a flag'), completed: 'true' },
  { ...todoOf('No timestamp'), dueAt: 'tomorrow' },
  { ...todoOf('x'.repeat(201)) },
  { ...todoOf('  ') },
];

/**
 * Checks that a server does the same work as the other: the records of the database, exactly counted pages,
 * writes that store everything, and bodies that are rejected.
 *
 * @throws AssertionError that names the server
 */
export async function checkEquivalence(name, url, { todos }, ids) {
  const ask = async (method, path, body) => {
    const headers = body && { 'Content-Type': 'application/json' };
    const answer = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
    return { status: answer.status, body: await answer.json() };
  };
  const stored = async (id) => {
    const record = await todos.findOne({ _id: mongoose.mongo.ObjectId.createFromHexString(id) });
    return shown(record);
  };

  for (const id of ids.slice(0, SAMPLES)) {
    const { status, body } = await ask('GET', `/todos/${id}`);
    assert.equal(status, 200, `${name}: get`);
    assert.deepEqual(shown(body), await stored(id), `${name}: get`);
  }

  const newest = await todos.find().sort({ createdAt: -1, _id: -1 }).limit(20).toArray();
  const { body: page } = await ask('GET', PAGE);
  assert.equal(page.count, ids.length, `${name}: count`);
  assert.deepEqual(page.results.map(shown), newest.map(shown), `${name}: page`);

  const [id] = ids;
  const before = await stored(id);
  assert.equal((await ask('PATCH', `/todos/${id}`, { completed: !before.completed })).status, 200);
  const after = await stored(id);
  assert.ok(after.updatedAt > before.updatedAt, `${name}: updatedAt after a patch`);
  assert.deepEqual(
    { ...after, updatedAt: before.updatedAt },
    { ...before, completed: !before.completed },
    `${name}: patch`,
  );

  const sent = todoOf(`Created to compare by ${name}`);
  const created = await ask('POST', '/todos', sent);
  assert.equal(created.status, 201, `${name}: create`);
  const { _id } = created.body;
  const { createdAt, updatedAt, ...rest } = await stored(_id);
  assert.deepEqual(rest, { _id, ...sent }, `${name}: create`);
  assert.ok(createdAt && createdAt === updatedAt, `${name}: timestamps of a create`);
  await todos.deleteOne({ title: sent.title });

  for (const body of REFUSED) {
    assert.equal((await ask('POST', '/todos', body)).status, 400, `${name}: ${JSON.stringify(body)}`);
  }
}

/** The fields of the contract, as a client sees them. Others that a server shows are not compared. */
function shown(record) {
  return JSON.parse(JSON.stringify(record, FIELDS));
}
