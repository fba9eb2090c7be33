/** @mongodb */
import type { mongo } from 'mongoose';
import { ACME, tokenOf } from '../../support/tenants.js';
import { useTestApp } from '../../support/test-app.js';

describe('writes', () => {
  const app = useTestApp();

  it('are acknowledged once they are in the journal of most members', async () => {
    const concerns = new Map<string, unknown>();
    const client = app.connection.getClient();
    const record = ({ commandName, command }: mongo.CommandStartedEvent) =>
      concerns.set(commandName, command.writeConcern);
    client.on('commandStarted', record);
    const token = await tokenOf(ACME);
    const { _id } = (await app.post('/todos', { title: 'Water the plants' })).body as { _id: string };
    await app.post('/posts/api', { title: 'Hello' }, { token, headers: { 'Idempotency-Key': 'k' } });
    await app.patch(`/todos/${_id}`, { completed: true });
    await app.del(`/todos/${_id}`);
    const writes = ['insert', 'update', 'findAndModify'].filter((name) => concerns.has(name));
    expect(writes).toEqual(expect.arrayContaining(['insert', 'findAndModify']));
    for (const name of writes) expect(concerns.get(name)).toEqual({ w: 'majority', j: true });
    client.off('commandStarted', record);
  });
});
