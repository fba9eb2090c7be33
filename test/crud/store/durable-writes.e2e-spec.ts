/** @mongodb */
import type { mongo } from 'mongoose';
import { created } from '../../support/records.js';
import { acme as token } from '../../support/tenants.js';
import { useTestApp } from '../../support/test-app.js';

const app = useTestApp();

it('writes are acknowledged once they are in the journal of most members', async () => {
  const concerns = new Map<string, unknown>();
  const record = ({ commandName, command }: mongo.CommandStartedEvent) =>
    concerns.set(commandName, command.writeConcern);
  app.connection.getClient().on('commandStarted', record);
  const path = `/todos/${await created(app, '/todos', { title: 'Water the plants' })}`;
  await app.post('/posts/api', { title: 'Hello' }, { token, headers: { 'Idempotency-Key': 'k' } });
  await app.patch(path, { completed: true });
  await app.del(path);
  const writes = ['insert', 'update', 'findAndModify'].filter((name) => concerns.has(name));
  expect(writes).toEqual(expect.arrayContaining(['insert', 'findAndModify']));
  for (const name of writes) expect(concerns.get(name)).toEqual({ w: 'majority', j: true });
});
