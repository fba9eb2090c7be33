import { EventClient } from '../../support/event-client.js';
import { eventually } from '../../support/eventually.js';
import { LoggedEvents } from '../../support/logged-events.js';
import { useDatabase } from '../../support/mongodb.js';
import { useServices } from '../../support/service-process.js';
import { ACME, acme as token } from '../../support/tenants.js';

const services = useServices();
const { uri, database } = useDatabase();

it('SIGTERM ends streams properly, even those of clients that do not read', async () => {
  const { service, url } = await services.start({ MONGODB_URI: uri });
  const clients = await Promise.all(Array.from({ length: 20 }, () => EventClient.open(url, { token })));
  const deaf = await EventClient.open(url, { token });
  deaf.response.pause();
  const log = new LoggedEvents(database);
  await log.append(ACME);
  await eventually(() => expect(clients.map(({ ids }) => ids)).toEqual(clients.map(() => log.idsOf(ACME))));
  service.signal('SIGTERM');
  expect((await service.ended()).code).toBe(0);
  await eventually(() => {
    for (const { end, comments } of clients)
      expect([end, comments.at(-1)]).toEqual(['ended', 'shutting down']);
  });
});
