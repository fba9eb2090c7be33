/** @mongodb */
import type { mongo } from 'mongoose';
import { freshDatabaseUri } from '../support/mongodb.js';
import { acme as token } from '../support/tenants.js';
import { createTestApp } from '../support/test-app.js';

it.each([
  'readPreference=secondary',
  'readpreference=nearest&readPreferenceTags=dc:east&maxStalenessSeconds=120',
])('with %s, reads go to the primary, and writes are in the journal of most members', async (preference) => {
  await using app = await createTestApp({ env: { MONGODB_URI: `${freshDatabaseUri()}&${preference}` } });
  const client = app.connection.getClient();
  expect(client.readPreference.mode).toBe('primary');
  const concerns = new Map<string, unknown>();
  client.on('commandStarted', ({ commandName, command }: mongo.CommandStartedEvent) =>
    concerns.set(commandName, command.writeConcern),
  );
  const path = `/todos/${await app.create('/todos', { title: 'Water the plants' })}`;
  expect((await app.get(path)).status).toBe(200);
  await app.post('/posts/api', { title: 'Hello' }, { token, headers: { 'Idempotency-Key': 'k' } });
  await app.patch(path, { completed: true });
  await app.del(path);
  const writes = ['insert', 'update', 'findAndModify'].filter((name) => concerns.has(name));
  expect(writes).toEqual(expect.arrayContaining(['insert', 'findAndModify']));
  for (const name of writes) expect(concerns.get(name)).toEqual({ w: 'majority', j: true });
  // Other options of the URI hold.
  expect(client.options.monitorCommands).toBe(true);
});
