import { once } from 'node:events';
import { createServer, type IncomingMessage, request, Agent } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getDefaultHighWaterMark } from 'node:stream';
import { streamBody } from '../../src/common/http/body.js';
import { restOf } from '../support/open-cursors.js';

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const server = createServer((message, response) => {
  const body = streamBody(message);
  // As an import does that is busy with its first lines when the last ones arrive.
  message.once('end', async () => response.end(String((await restOf(body)).length)));
});
beforeAll(() => once(server.listen(0, '127.0.0.1'), 'listening'));
afterAll(() => {
  agent.destroy();
  server.close();
});

async function send(bytes: number): Promise<string> {
  const { port } = server.address() as AddressInfo;
  const sent = request({ port, host: '127.0.0.1', method: 'POST', agent, timeout: 60_000 });
  sent.on('timeout', () => sent.destroy(new Error('No answer')));
  sent.end('x'.repeat(bytes));
  return restOf(((await once(sent, 'response')) as [IncomingMessage])[0]);
}

it('a body as a stream leaves the connection to the next request if its end arrives before it is read', async () => {
  const full = getDefaultHighWaterMark(false) + 1_000;
  for (const bytes of [full, full, 10]) expect(await send(bytes)).toBe(String(bytes));
});
