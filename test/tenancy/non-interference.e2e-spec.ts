/** @slow */
import { Worlds } from '../support/apart/worlds.js';
import { releaseClock, stopClock } from '../support/own-clock.js';
import { Random } from '../support/random.js';

const SEED = Number(process.env.NON_INTERFERENCE_SEED ?? 2);
/** Operations that fill the databases. */
const FILLING = 800;

it('two worlds that differ in what a caller may not see answer every query of the grammar alike', async () => {
  stopClock('Date');
  const worlds = await Worlds.create(new Random(SEED));
  try {
    await worlds.carryOut(FILLING);
    for (const request of worlds.requests.exhaustive(worlds.callers)) await worlds.compare(request);
  } finally {
    releaseClock();
    await worlds.close();
  }
}, 900_000);
