import { setTimeout as pause } from 'node:timers/promises';
import { Installation, tenantOf } from '../support/installation.js';
import { metered } from './support/meter.js';
import { normalClients, quantile, told } from './support/normal-client.js';

const AT_A_TIME = 20;
const MAX_GROWTH_MIB = 512;
const MAX_GET_MS = 100;

/** Pages of the largest allowed posts, twenty at a time. */
export default async function pages({ short, begin }) {
  const installation = new Installation();
  const service = await installation.startService('off');
  const { url } = installation;
  const figures = {};
  const failures = [];
  try {
    const content = 'x'.repeat(100_000);
    for (let i = 0; i < 100; i++)
      await installation.post('/posts/api', tenantOf(1), { title: `Post ${i}`, content });
    begin('normal clients alone');
    const path = `${url}/health/live`;
    await normalClients(path, 2_000);
    const alone = await normalClients(path, 3_000);
    begin(`beside ${AT_A_TIME} pages`);
    const { result, grownMiB } = await metered(service, async () => {
      const normal = normalClients(path, short ? 5_000 : 15_000);
      await pause(200);
      const read = [];
      for (let round = 0; round < (short ? 1 : 4); round++)
        read.push(...(await Promise.all(Array.from({ length: AT_A_TIME }, () => page(url)))));
      return { beside: await normal, read };
    });
    const whole = result.read.filter(({ records }) => records === 100).length;
    const refused = result.read.filter(({ status }) => status === 503).length;
    figures.alone = told(alone);
    figures[`beside ${AT_A_TIME} pages`] = told(result.beside);
    figures.pages = `${whole} whole, ${refused} refused, of ${result.read.length}`;
    figures.memory = `+${grownMiB.toFixed(0)} MiB`;
    if (grownMiB > MAX_GROWTH_MIB) failures.push(`the pages take more than ${MAX_GROWTH_MIB} MiB`);
    if (whole + refused < result.read.length) failures.push('a page is neither whole nor refused');
    const limit = Math.max(MAX_GET_MS, 3 * quantile(alone.gets, 0.99));
    if (quantile(result.beside.gets, 0.99) > limit)
      failures.push(`a request waits for more than ${limit.toFixed(0)} ms`);
    begin('end');
  } finally {
    await installation.remove();
  }
  return { figures, failures };
}

async function page(url) {
  const answer = await fetch(`${url}/posts/api?limit=100`);
  const { results = [] } = await answer.json();
  return { status: answer.status, records: results.length };
}
