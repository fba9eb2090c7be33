/**
 * @slow
 * @mongodb
 */
import { SURFACES } from '../support/apart/resources.js';
import { Worlds } from '../support/apart/worlds.js';
import { releaseClock, stopClock } from '../support/own-clock.js';
import { Random } from '../support/random.js';

const SEED = Number(process.env.NON_INTERFERENCE_SEED ?? 1);
const OPERATIONS = Number(process.env.NON_INTERFERENCE_OPERATIONS ?? 800);
/** How often a long run says how far it is. Unit: operations. */
const REPORTED_EVERY = 1_000;

describe(`${OPERATIONS} operations in two worlds, seed ${SEED}`, () => {
  let worlds: Worlds;
  beforeAll(async () => {
    stopClock('Date');
    worlds = await Worlds.create(new Random(SEED));
  });
  afterAll(async () => {
    releaseClock();
    await worlds.close();
  });

  it('answer callers with the same bytes and keep what is of others, whatever either does', async () => {
    for (let done = 0; done < OPERATIONS; done += REPORTED_EVERY) {
      await worlds.carryOut(Math.min(REPORTED_EVERY, OPERATIONS - done));
      if (OPERATIONS > REPORTED_EVERY)
        process.stdout.write(`More than ${done} operations: ${JSON.stringify(worlds.compared)}\n`);
    }
  }, 36_000_000);

  // Slowly on a MongoDB, to which the embedded database is compared by tests of its own.
  if (process.env.TESTS_ARE_EMBEDDED)
    it('leave no query of the grammar that is answered otherwise', async () => {
      for (const request of worlds.requests.exhaustive(worlds.callers)) await worlds.compare(request);
    }, 900_000);

  it('show a tenant the same events', async () => {
    expect(await worlds.compareEvents()).toBeGreaterThan(0);
  });

  it('are changed by either side in every resource', () => {
    const names = SURFACES.map(({ name }) => name).filter((name) => name !== 'audits');
    expect([...worlds.changed.unseen].sort()).toEqual(names.filter((name) => name !== 'todos').sort());
    expect([...worlds.changed.seen].sort()).toEqual(names.filter((name) => name !== 'dossiers').sort());
  });
});
