import { once } from 'node:events';
import { Controller, Get } from '@nestjs/common';
import { RawConnection } from '../../support/raw-http.js';
import { serviceWith, useTestApp } from '../../support/test-app.js';

const CLIENTS = 200;
const REQUEST = 'GET /begun HTTP/1.1\r\nHost: localhost\r\n\r\n';
let begun = 0;

@Controller('begun')
class BegunController {
  @Get()
  begin(): object {
    return { begun: ++begun };
  }
}

const app = useTestApp({ root: serviceWith({ controllers: [BegunController] }) });

const send = ({ socket }: RawConnection) => Promise.all([once(socket, 'data'), socket.write(REQUEST)]);

it('requests that arrive at once begin in several turns of the event loop, so that those which have begun go on in between', async () => {
  // The service has accepted each connection, since it has answered on it.
  const clients = Array.from({ length: CLIENTS }, () => new RawConnection(app.url));
  await Promise.all(clients.map(send));
  begun = 0;
  let largest = 0;
  let before = 0;
  const watch = () => {
    largest = Math.max(largest, begun - before);
    before = begun;
    if (begun < CLIENTS) setImmediate(watch);
  };
  const answers = clients.map(send);
  watch();
  await Promise.all(answers);
  expect(begun).toBe(CLIENTS);
  expect(largest).toBeLessThanOrEqual(2 * 16);
  for (const client of clients) client.close();
});
