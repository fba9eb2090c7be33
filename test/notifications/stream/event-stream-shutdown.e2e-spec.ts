import mongoose from 'mongoose';
import { EventClient } from '../../support/event-client.js';
import { eventually } from '../../support/eventually.js';
import { LoggedEvents } from '../../support/logged-events.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { buildService, ServiceProcess } from '../../support/service-process.js';
import { ACME, TEST_SECRET, tokenOf } from '../../support/tenants.js';

it('SIGTERM ends streams properly, even those of clients that do not read', async () => {
  buildService();
  const token = await tokenOf(ACME);
  const uri = freshDatabaseUri();
  const client = new mongoose.mongo.MongoClient(uri);
  const service = ServiceProcess.spawn({ MONGODB_URI: uri, PORT: '0', JWT_SECRET: TEST_SECRET });
  try {
    const url = await service.url();
    const clients = await Promise.all(Array.from({ length: 20 }, () => EventClient.open(url, { token })));
    const deaf = await EventClient.open(url, { token });
    deaf.response.pause();
    const log = new LoggedEvents(client.db());
    await log.append(ACME);
    await eventually(() => expect(clients.map(({ ids }) => ids)).toEqual(clients.map(() => log.idsOf(ACME))));
    service.signal('SIGTERM');
    const { code } = await service.ended();
    expect(code).toBe(0);
    await eventually(() => {
      for (const { end, comments } of clients)
        expect([end, comments.at(-1)]).toEqual(['ended', 'shutting down']);
    });
  } finally {
    service.signal('SIGKILL');
    await client.db().dropDatabase();
    await client.close();
  }
});
