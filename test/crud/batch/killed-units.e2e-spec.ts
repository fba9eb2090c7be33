/**
 * @slow
 * @mongodb
 */
import { setTimeout as pause } from 'node:timers/promises';
import { titled } from '../../support/bulk.js';
import { ownDatabase } from '../../support/mongodb.js';
import { sendTo } from '../../support/send-to.js';
import { useServices } from '../../support/service-process.js';

const OPERATIONS = 400;
const KILLS = 3;

const services = useServices();
const operations = Array.from({ length: OPERATIONS }, (_, i) => titled(`Todo ${i}`));
const body = { atomic: true, operations };

it('an atomic bulk whose process is killed is there as a whole, or not at all', async () => {
  const env = ownDatabase();
  let { service, url } = await services.start(env);
  const send = () => sendTo(url, 'POST', '/todos/bulk', { body });
  await send();
  const begun = performance.now();
  await send();
  const usualMs = performance.now() - begun;
  for (let kill = 1; kill <= KILLS; kill++) {
    const answer = send().catch(() => undefined);
    // The later ones are in the midst of the transaction, or after it.
    await pause((usualMs * (kill + 1)) / KILLS);
    service.signal('SIGKILL');
    await service.ended();
    await answer;
    ({ service, url } = await services.start(env));
    const { count } = (await sendTo(url, 'GET', '/todos/count')).body;
    expect([kill, count, count % OPERATIONS]).toEqual([kill, count, 0]);
  }
}, 120_000);
