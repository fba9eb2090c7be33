import { Installation } from '../support/installation.js';
import { metered } from './support/meter.js';
import { normalClients, quantile, told } from './support/normal-client.js';
import { openSockets } from './support/sockets.js';
import { storeTodos } from './support/todos.js';

const MAX_TIMES_ALONE = 1.5;
/** Smaller differences are not significant. Unit: milliseconds. */
const NOISE_MS = 15;

const HOST = 'Host: drill\r\n';

/** Kinds of slow clients: what they send first, how they continue, and when they must have been given up. */
const KINDS = {
  heads: { first: `GET /todos HTTP/1.1\r\n${HOST}`, drip: 'X-Slow: x\r\n', givenUpMs: 14_000 },
  bodies: {
    first: `POST /todos HTTP/1.1\r\n${HOST}Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{`,
    drip: ' ',
    givenUpMs: 24_000,
  },
  reads: { first: `GET /todos?limit=100 HTTP/1.1\r\n${HOST}\r\n`, givenUpMs: 75_000, reads: true },
};

/** Many clients that send or read slowly, beside normal ones. */
export default async function slowClients({ short, begin }) {
  const installation = new Installation();
  const service = await installation.startService('off');
  const { url } = installation;
  const figures = {};
  const failures = [];
  const count = short ? 300 : 2_000;
  try {
    const todo = url + (await storeTodos(url, 200, 'x'.repeat(10_000)));
    await normalClients(todo, 2_000);
    for (const [name, { first, drip, givenUpMs, reads }] of Object.entries(KINDS)) {
      begin(`normal clients, before slow ${name}`);
      // Before each kind, since the machine's speed varies.
      const alone = await normalClients(todo, 5_000);
      begin(`beside ${count} slow ${name}`);
      const sockets = await openSockets(url, count, first, { reads: !reads });
      if (reads) for (const socket of sockets) socket.pause();
      const dripping = setInterval(() => {
        for (const socket of sockets) if (drip && socket.isOpen) socket.write(drip);
      }, 1_000);
      const lasting = short && givenUpMs > 20_000 ? 6_000 : givenUpMs;
      const { result: beside, grownMiB } = await metered(service, () => normalClients(todo, lasting));
      clearInterval(dripping);
      figures[`alone, before slow ${name}`] = told(alone);
      figures[`beside ${count} slow ${name}`] = `${told(beside)}; +${grownMiB.toFixed(0)} MiB`;
      const limit = quantile(alone.gets, 0.99) * MAX_TIMES_ALONE + NOISE_MS;
      if (quantile(beside.gets, 0.99) > limit)
        failures.push(`slow ${name}: p99 of gets is more than ${limit.toFixed(0)} ms`);
      if (beside.failed > 0) failures.push(`slow ${name}: ${beside.failed} normal requests failed`);
      if (lasting === givenUpMs && drip) {
        const open = sockets.filter(({ isOpen }) => isOpen).length;
        const answered = sockets.filter(({ status }) => status === 408).length;
        figures[`slow ${name} given up`] = `${count - open} of ${count}, ${answered} with a 408`;
        if (open > 0) failures.push(`${open} slow ${name} are not given up`);
      }
      for (const socket of sockets) socket.destroy();
    }
    begin('end');
  } finally {
    await installation.remove();
  }
  return { figures, failures };
}
