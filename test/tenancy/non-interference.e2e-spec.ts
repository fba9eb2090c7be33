/** @slow */
import { refusedRequests } from '../support/apart/refused.js';
import { Requests, type Sent } from '../support/apart/requests.js';
import { PERSON, SURFACES } from '../support/apart/surfaces.js';
import {
  answerOf,
  type Contents,
  createWorlds,
  partOf,
  contentsOf,
  type Worlds,
} from '../support/apart/worlds.js';
import { Random } from '../support/random.js';
import { ACME, tokenOf } from '../support/tenants.js';

const SEED = Number(process.env.NON_INTERFERENCE_SEED ?? 1);
/** Random queries, besides every one of the grammar. */
const QUERIES = Number(process.env.NON_INTERFERENCE_QUERIES ?? 300);

describe(`two databases that differ only in what a caller may not see, seed ${SEED}`, () => {
  const random = new Random(SEED);
  let worlds: Worlds;
  let requests: Requests;
  let acme: string;

  beforeAll(async () => {
    worlds = await createWorlds(random);
    acme = tokenOf(ACME, { sub: PERSON });
    const records = SURFACES.map(({ name }) => [name, worlds.contents.flatMap((each) => each[name] ?? [])]);
    requests = new Requests(random, SURFACES, Object.fromEntries(records) as Contents, [acme, undefined]);
  });
  afterAll(() => worlds.close());

  it('differ, and are the same to the caller', () => {
    const [one, other] = worlds.contents;
    expect(partOf(one, false)).not.toEqual(partOf(other, false));
    const ids = (contents: typeof one) =>
      Object.entries(partOf(contents, true)).map(([name, records]) => [name, records.map(({ _id }) => _id)]);
    expect(ids(one)).toEqual(ids(other));
  });

  it('answer every query of the grammar with the same bytes', async () => {
    for (const request of requests.exhaustive()) await expectSame(request);
  }, 600_000);

  it('answer random queries with the same bytes', async () => {
    for (let i = 0; i < QUERIES; i++) await expectSame(requests.any());
  }, 3_600_000);

  it('refuse what aims at a hidden record with the same bytes, and change nothing', async () => {
    const before = await Promise.all(worlds.apps.map(contentsOf));
    for (const request of refusedRequests(worlds.contents, [acme, undefined])) await expectSame(request);
    expect(await Promise.all(worlds.apps.map(contentsOf))).toEqual(before);
  }, 600_000);

  let number = 0;
  async function expectSame(request: Sent): Promise<void> {
    number++;
    const [one, other] = await Promise.all(worlds.apps.map((app) => answerOf(app, request, String(number))));
    expect({ request, answer: other }).toEqual({ request, answer: one });
    if (one?.status === 200) requests.learn(request, one.body);
  }
});
