/** @slow */
import { isDeepStrictEqual } from 'node:util';
import { refusedRequests } from '../support/apart/refused.js';
import { SURFACES } from '../support/apart/resources.js';
import { Worlds } from '../support/apart/worlds.js';
import { releaseClock, stopClock } from '../support/own-clock.js';
import { Random } from '../support/random.js';

const SEED = Number(process.env.NON_INTERFERENCE_SEED ?? 1);
/** Random queries, besides every one of the grammar. */
const QUERIES = Number(process.env.NON_INTERFERENCE_QUERIES ?? 300);
/** Operations that fill the databases. */
const FILLING = 800;
/** Records that then refer to others, whoever may see those. */
const ENTANGLED = 60;

describe(`two databases that differ only in what a caller may not see, seed ${SEED}`, () => {
  let worlds: Worlds;

  beforeAll(async () => {
    stopClock('Date');
    worlds = await Worlds.create(new Random(SEED));
    await worlds.carryOut(FILLING);
    while ((await sameIn()).length > 0) await worlds.carryOut(20);
    for (let i = 0; i < ENTANGLED; i++) await worlds.entangle();
  }, 600_000);
  afterAll(async () => {
    releaseClock();
    await worlds.close();
  });

  /** The resources of which both hold the same records. */
  async function sameIn(): Promise<string[]> {
    const [one, other] = await worlds.contents();
    const names = SURFACES.map(({ name }) => name).filter((name) => name !== 'todos');
    return names.filter((name) => isDeepStrictEqual(one[name], other[name]));
  }

  it('differ in every resource that is not public as a whole', async () => {
    expect(await sameIn()).toEqual([]);
    const [one, other] = await worlds.contents();
    expect(other.todos).toEqual(one.todos);
  });

  it('answer every query of the grammar with the same bytes', async () => {
    for (const request of worlds.requests.exhaustive(worlds.callers)) await worlds.compare(request);
  }, 600_000);

  it('answer random queries with the same bytes', async () => {
    for (let i = 0; i < QUERIES; i++) await worlds.compare(worlds.requests.any());
  }, 3_600_000);

  it('refuse what aims at a hidden record with the same bytes, and change nothing', async () => {
    const before = await worlds.contents();
    for (const request of refusedRequests(before, worlds.callers)) await worlds.compare(request);
    // What was tried is recorded.
    const stored = (await worlds.contents()).map(({ audits: _audits, ...others }) => others);
    expect(stored).toEqual(before.map(({ audits: _audits, ...others }) => others));
  }, 600_000);
});
