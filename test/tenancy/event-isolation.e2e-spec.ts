import { Prop } from '@nestjs/mongoose';
import { IsText, IsTimestamp } from '../../src/common/fields/index.js';
import { NotificationsModule } from '../../src/common/notifications/index.js';
import {
  anyOf,
  claim,
  claims,
  currentTenant,
  hasRole,
  unlessCaller,
  unrestrictedScope,
} from '../../src/common/tenancy/index.js';
import { EventClient } from '../support/event-client.js';
import { eventually } from '../support/eventually.js';
import { guardBy } from '../support/guarded-app.js';
import { Receiver } from '../support/receiver.js';
import { requestsOf } from '../support/requests-of.js';
import { createResourceApp, serviceIn } from '../support/resource-app.js';
import { type Outline, resource } from '../support/resource.js';
import { ACME, GLOBEX, tokenOf } from '../support/tenants.js';
import type { TestApp } from '../support/test-app.js';

const TENANT = { tenant: currentTenant };
const OWNER = { ...TENANT, owner: claim('sub') };
const EITHER = anyOf({ owner: claim('sub') }, { reader: claim('sub') });

/** Resources whose records everybody of the tenant can read, so that subscribers see them. */
const SHOWN: Readonly<Record<string, Partial<Outline>>> = {
  tenants: {},
  supported: { isolationFields: { all: unlessCaller(hasRole('support'), TENANT) } },
  written: { isolationFields: { create: OWNER, get: TENANT, update: TENANT, del: TENANT } },
};
/** Resources of every other isolation. */
const OTHERS: Readonly<Record<string, Partial<Outline>>> = {
  owned: { isolationFields: { all: OWNER } },
  shared: { isolationFields: { all: { ...TENANT, members: claim('sub') } } },
  either: { isolationFields: { all: TENANT, get: EITHER } },
  teams: { isolationFields: { all: { ...TENANT, team: claims('teams') } } },
  ruled: { rules: { text: { read: hasRole('hr') } } },
  hidden: { visible: { reader: null } },
  guarded: { routes: { get: { guards: [guardBy(() => true)] } } },
  viewed: { output: (record) => record },
};

/** One of each, and one of those with an archive. */
const ISOLATIONS = [...Object.keys({ ...SHOWN, ...OTHERS }), 'tenants-archived', 'owned-archived'];

const resources = ISOLATIONS.map((name) => {
  const isolation = name.replace('-archived', '');
  return resource({
    fields: { text: IsText({ max: 60, optional: isolation === 'ruled' }) },
    kept: {
      ...{ tenant: Prop({ type: String }), owner: Prop({ type: String }) },
      ...{ reader: Prop({ type: String }), team: Prop({ type: String }) },
      members: Prop({ type: [String], default: undefined }),
      deletedAt: IsTimestamp({ optional: true }),
    },
    isolationFields: { all: TENANT },
    ...(SHOWN[isolation] ?? OTHERS[isolation]),
    name,
    archive: name === isolation ? undefined : { field: 'deletedAt' },
    events: isolation in SHOWN || { data: 'id' },
  });
});

const PEOPLE = Object.entries({ ada: ACME, bob: ACME, eve: GLOBEX });
/** Bob only looks on. */
const WRITERS = PEOPLE.filter(([name]) => name !== 'bob');

/** A record that has been written, and the texts that it has had. */
type Written = Readonly<Record<'name' | 'tenant' | 'id', string> & { texts: string[] }>;

describe('events', () => {
  let app: TestApp;
  const receivers = new Map<string, Receiver>();
  const streams: { client: EventClient; tenant: string }[] = [];
  const written: Written[] = [];

  beforeAll(async () => {
    app = await createResourceApp(
      NotificationsModule.forRoot({ targets: { allowPrivate: true, httpsOnly: false } }),
      ...resources,
    );
    for (const tenant of [ACME, GLOBEX]) {
      const receiver = await Receiver.start();
      receivers.set(tenant, receiver);
      const events = resources.map(({ name }) => `${name}.*`);
      await requestsOf(app, tokenOf(tenant)).create('/subscriptions', { url: receiver.url, events });
    }
    for (const [sub, tenant] of PEOPLE)
      streams.push({ client: await EventClient.open(app.url, { token: tokenFor(sub, tenant) }), tenant });
    // A database that is busy with other tests may answer too late: then with another record.
    for (const { name, entity } of resources)
      for (const [sub, tenant] of WRITERS)
        written.push(await eventually(() => writeAll(name, entity as never, sub, tenant)));
  });
  afterAll(async () => {
    for (const { client } of streams) client.close();
    for (const receiver of receivers.values()) await receiver.close();
    await app.close();
  });

  const tokenFor = (sub: string, tenant: string) =>
    tokenOf(tenant, { sub, teams: [`team of ${sub}`], roles: ['hr'] });

  /** Creates, changes, moves, archives, restores and deletes a record. */
  async function writeAll(name: string, entity: never, sub: string, tenant: string): Promise<Written> {
    const person = requestsOf(app, tokenFor(sub, tenant));
    const texts = ['first', 'second', 'third'].map((word) => `${word} text of ${sub} in ${name}.`);
    const id = await person.create(`/${name}`, { text: texts[0] });
    const path = `/${name}/${id}`;
    expect(await person.status('PATCH', path, { text: texts[1] })).toBe(200);
    const service = serviceIn(app, entity);
    const moved = { owner: 'another', members: ['another'], team: 'another' };
    await service.update(unrestrictedScope(), id, { ...moved, text: texts[2] });
    const back = { owner: sub, members: [sub], team: `team of ${sub}` };
    await service.update(unrestrictedScope(), id, back);
    expect(await person.status('DELETE', path)).toBe(200);
    if (name.endsWith('-archived')) expect(await person.status('POST', `${path}/restore`)).toBe(200);
    return { name, tenant, id, texts };
  }

  /** What came to a tenant: by its webhooks, and by the streams of its callers. */
  const arrivedAt = (tenant: string): string[] => [
    (receivers.get(tenant)?.received ?? []).map(({ body }) => body.toString()).join('\n'),
    ...streams.filter((stream) => stream.tenant === tenant).map(({ client }) => client.text),
  ];
  /** Which of its texts came to the tenant of a record, in each way. */
  const textsAt = ({ tenant, texts }: Written) =>
    arrivedAt(tenant).map((bytes) => texts.filter((text) => bytes.includes(text)));
  const isShown = ({ name }: Written) => name.replace('-archived', '') in SHOWN;

  it('of every write reach the tenant of the record', async () => {
    await eventually(() => {
      for (const { id, name, tenant } of written) {
        const last = `"${name}.${name.endsWith('-archived') ? 'restored' : 'deleted'}"`;
        const isLast = (line: string) => line.includes(id) && line.includes(last);
        for (const bytes of arrivedAt(tenant)) expect(bytes.split('\n').filter(isLast)).toHaveLength(1);
      }
    });
  });

  it('show a record to a tenant whose callers can all read it, and nothing of others, at no moment', () => {
    for (const one of written)
      for (const shown of textsAt(one))
        expect([one.name, shown]).toEqual([one.name, isShown(one) ? one.texts : []]);
    for (const { body } of [...receivers.values()].flatMap(({ received }) => received)) {
      const { type, data } = JSON.parse(body) as { type: string; data: object };
      const [name = ''] = type.split(/-archived|\./);
      if (name in OTHERS) expect([type, data]).toEqual([type, { _id: expect.any(String) }]);
    }
  });

  it('tell another tenant nothing, not even an identifier', () => {
    for (const { id, tenant, texts } of written)
      for (const bytes of arrivedAt(tenant === ACME ? GLOBEX : ACME))
        expect([id, ...texts].filter((text) => bytes.includes(text))).toEqual([]);
  });
});
