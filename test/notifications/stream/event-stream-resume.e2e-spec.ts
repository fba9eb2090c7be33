/** @slow */
import { setTimeout as pause } from 'node:timers/promises';
import { EventClient } from '../../support/event-client.js';
import { eventually } from '../../support/eventually.js';
import { useDatabase } from '../../support/mongodb.js';
import { Random } from '../../support/random.js';
import { useServices } from '../../support/service-process.js';
import { LoggedEvents } from '../../support/stream-app.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { ACME, acme as token, GLOBEX, tokenOf } from '../../support/tenants.js';

const TENANTS = [ACME, GLOBEX, '665f1c2ab7e3a90d4c8b0003'];
const EVENTS = 1_000;
const FOLLOWERS = 15;
/** Appends after which each follower has left and come back at least once. */
const ROUNDS = 10;
const WITHIN_MS = 60_000;

/** A client that leaves at random moments and resumes. */
class RestlessFollower {
  readonly ids: string[] = [];
  connections = 0;
  private lastEventId: string | undefined;
  private done = false;

  constructor(
    readonly tenant: string,
    private readonly random: Random,
    /** How often events have been appended, which is its clock. */
    private readonly round: () => number,
    /** Where to connect, each time. */
    private readonly urlOf: () => string,
  ) {}

  /** Follows until it is told to stop. */
  async run(): Promise<void> {
    while (!this.done) {
      const stay = this.random.below(this.random.chance(0.3) ? 3 : 400);
      await this.connect(stay).catch(() => pause(20));
    }
  }

  stop(): void {
    this.done = true;
  }

  /** One connection, which the client leaves after so many events, or some rounds later. */
  private async connect(stay: number): Promise<void> {
    const asked = { token: tokenOf(this.tenant), lastEventId: this.lastEventId };
    const client = await EventClient.open(this.urlOf(), asked, (open) => {
      this.ids.push(open.events.at(-1)?.id ?? '');
      if (open.events.length > stay) open.close();
    });
    if (client.status !== 200) {
      client.close();
      throw new Error('Not now');
    }
    this.connections += 1;
    const leaveAt = this.round() + 1 + this.random.below(ROUNDS - 2);
    while (!client.end && !this.done && this.round() < leaveAt) await pause(5);
    client.close();
    // What a real client keeps: also the identifier of an opening without an event.
    if (client.lastEventId !== '') this.lastEventId = client.lastEventId;
  }
}

describe('clients that leave and resume while events are appended', () => {
  const services = useServices();
  const { uri, database } = useDatabase();

  it('have every event once, in order, and none of another tenant, from processes over one database, whichever is killed', async () => {
    const start = () => services.start({ MONGODB_URI: uri });
    const running = [await start(), await start()];
    const replaceOne = async (signal: NodeJS.Signals) => {
      const stopped = running.shift();
      stopped?.service.signal(signal);
      running.push(await start());
      await stopped?.service.ended();
    };
    const random = new Random(7);
    const urlOf = () => random.pick(running).url;
    const log = new LoggedEvents(database);
    await log.append(...TENANTS);
    let round = 0;
    const followers = Array.from({ length: FOLLOWERS }, (_, i) => {
      const tenant = TENANTS[i % TENANTS.length] ?? ACME;
      return new RestlessFollower(tenant, new Random(i), () => round, urlOf);
    });
    const following = followers.map((follower) => follower.run());
    const everyoneConnected = (times: number) =>
      eventually(() => {
        for (const { connections } of followers) expect(connections).toBeGreaterThanOrEqual(times);
      });
    await everyoneConnected(1);
    const signals: NodeJS.Signals[] = ['SIGKILL', 'SIGTERM'];
    let replaced: Promise<void> | undefined;
    while (log.all.length < EVENTS || signals.length > 0) {
      await log.append(...random.list(1, 40, () => random.pick(TENANTS)));
      round++;
      if (round % ROUNDS > 0) continue;
      await everyoneConnected(1 + round / ROUNDS);
      await replaced;
      const signal = signals.shift();
      if (signal) replaced = replaceOne(signal);
    }
    await replaced;
    await eventually(() => {
      for (const { ids, tenant } of followers) expect(ids.at(-1)).toBe(log.idsOf(tenant).at(-1));
    }, WITHIN_MS);
    for (const follower of followers) follower.stop();
    await Promise.all(following);
    // The first event of each tenant was there before.
    for (const { ids, tenant } of followers) expect(ids).toEqual(log.idsOf(tenant).slice(1));
  }, 120_000);
});

describe.each(['refuse', 'hang'] as const)('a database that is lost (%s)', (mode) => {
  const services = useServices();
  const { uri, database } = useDatabase();

  it('is logged, and leaves the stream open, which goes on without a gap', async () => {
    const proxy = await TcpProxy.before(uri);
    const { service, url } = await services.start({ MONGODB_URI: proxy.through(uri) });
    const log = new LoggedEvents(database);
    const stream = await EventClient.open(url, { token });
    const hasAll = () => eventually(() => expect(stream.ids).toEqual(log.idsOf(ACME)));
    await eventually(() => expect(stream.comments).toEqual(['connected']));
    await log.append(ACME);
    await hasAll();
    await proxy.turn(mode);
    await log.append(ACME, GLOBEX, ACME);
    const refused = await EventClient.open(url, { token });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '5']);
    await service.says(/The log of events cannot be read/);
    await proxy.turn('pass');
    await log.append(ACME);
    await hasAll();
    expect(stream.end).toBeUndefined();
    await proxy.close();
  });
});
