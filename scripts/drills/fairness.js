import { Installation, tenantOf } from '../support/installation.js';
import { closedLoop, oddOf, quantile } from './support/closed-loop.js';
import { requestOf } from './support/connection.js';

const TENANTS = 8;
/** Number of clients of each tenant, and of the one that takes ten times its share. */
const CLIENTS = 8;
const GREEDY_CLIENTS = 256;
/** How long a client of a modest tenant waits between two requests. Unit: milliseconds. */
const THINK_MS = 50;
const MAX_RATIO = 1.5;

/**
 * One tenant sends as much as it can, far more than ten times as much as the others, whose requests must not
 * take much longer. The short form does not compare times, which depend on the machine.
 */
export default async function fairness({ short, begin }) {
  const [ms, rounds] = short ? [2_000, 2] : [15_000, 4];
  const installation = new Installation();
  const even = [];
  const uneven = [];
  const greedy = { served: 0, refused: 0 };
  let othersRefused = 0;
  const odd = [];
  try {
    await installation.startService('off');
    const { url } = installation;
    const create = (tenant) =>
      requestOf('POST', '/posts/api', {
        token: installation.token(tenantOf(tenant)),
        body: { title: 'Release notes', content: 'News.' },
      });
    const requests = Array.from({ length: TENANTS + 1 }, (_, tenant) => create(tenant));
    const modest = () =>
      closedLoop(url, {
        clients: TENANTS * CLIENTS,
        ms,
        thinkMs: THINK_MS,
        requestOf: (number) => requests[1 + (number % TENANTS)],
      });
    // Its own share and no more: as many clients as the others have, with the same pauses.
    const share = () =>
      closedLoop(url, { clients: CLIENTS, ms, thinkMs: THINK_MS, requestOf: () => requests[0] });
    const all = () => closedLoop(url, { clients: GREEDY_CLIENTS, ms, requestOf: () => requests[0] });
    begin('warming up');
    await Promise.all([modest(), share()]);
    // In turns, so that other work of the machine affects both equally.
    for (let round = 0; round < rounds; round++) {
      begin(`round ${round + 1} of ${rounds}, each tenant at its share`);
      even.push(...(await Promise.all([modest(), share()]))[0].served);
      begin(`round ${round + 1} of ${rounds}, one tenant beyond its share`);
      const [others, one] = await Promise.all([modest(), all()]);
      uneven.push(...others.served);
      greedy.served += one.served.length;
      greedy.refused += one.refused.length;
      othersRefused += others.refused.length;
      odd.push(...[others, one].flatMap(oddOf));
    }
    begin('end');
  } finally {
    await installation.remove();
  }
  const [before, after] = [quantile(even, 0.99), quantile(uneven, 0.99)];
  const failures = [];
  if (!short && after > MAX_RATIO * before)
    failures.push(`the others' p99 is more than ${MAX_RATIO} times as long`);
  if (othersRefused > 0) failures.push(`${othersRefused} requests of the others were refused`);
  if (odd.length > 0) failures.push(`neither served nor refused: ${odd.join(', ')}`);
  return {
    figures: {
      'p99 of the others, each tenant at its share': `${before.toFixed(1)} ms (${even.length} requests)`,
      'p99 of the others, one tenant beyond its share': `${after.toFixed(1)} ms (${uneven.length} requests)`,
      'times as long': (after / before).toFixed(2),
      'p50 before and after': `${quantile(even, 0.5).toFixed(1)} ms, ${quantile(uneven, 0.5).toFixed(1)} ms`,
      'requests of that tenant': `${greedy.served} served, ${greedy.refused} refused`,
    },
    failures,
  };
}
