import { eventually } from '../support/eventually.js';
import { RawConnection } from '../support/raw-http.js';
import { useTestApp } from '../support/test-app.js';

const HEAD = 'POST /todos HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const SENT = `${HEAD}Content-Length: 1000000\r\n\r\n{"title":"${'x'.repeat(900_000)}`;

const app = useTestApp();

it('many bodies of which the rest does not arrive give way, those that began first, to bodies that do arrive', async () => {
  const clients = Array.from({ length: 90 }, () => new RawConnection(app.url));
  for (const client of clients) client.write(SENT);
  const refused = () => clients.filter(({ received }) => received !== '');
  await eventually(() => expect(refused()[0]?.received).toMatch(/^HTTP\/1\.1 503 .*/));
  const whole = await app.post('/todos', { title: 'x', description: 'y'.repeat(500_000) });
  expect(whole.status).toBe(400);
  expect((await app.post('/todos', { title: 'Water the plants' })).status).toBe(201);
  // 64 MiB of them fit.
  expect(refused().length).toBeLessThanOrEqual(90 - 74 + 2);
  for (const client of clients) client.close();
});
