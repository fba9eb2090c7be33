/** @mongodb */
import { type CanActivate, Injectable } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { CrudModule, type CrudService, getCrudServiceToken } from '../../src/common/crud/index.js';
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
import { Receiver } from '../support/receiver.js';
import { createResourceApp } from '../support/resource-app.js';
import { type Made, type Outline, resource } from '../support/resource.js';
import { ACME, GLOBEX, tokenOf } from '../support/tenants.js';
import type { TestApp } from '../support/test-app.js';

@Injectable()
class OfAda implements CanActivate {
  canActivate(): boolean {
    return true;
  }
}

const TENANT = { tenant: currentTenant };
const OWNER = { ...TENANT, owner: claim('sub') };

/** Resources of every isolation. Subscribers see the records of those that everybody of the tenant can read. */
const ISOLATIONS: Readonly<Record<string, Partial<Outline> & { shown?: true }>> = {
  tenants: { shown: true, isolationFields: { all: TENANT } },
  supported: { shown: true, isolationFields: { all: unlessCaller(hasRole('support'), TENANT) } },
  written: {
    shown: true,
    isolationFields: { create: OWNER, get: TENANT, count: TENANT, update: TENANT, del: TENANT },
  },
  owned: { isolationFields: { all: OWNER } },
  shared: { isolationFields: { all: { ...TENANT, members: claim('sub') } } },
  either: { isolationFields: { all: TENANT, get: anyOf({ owner: claim('sub') }, { reader: claim('sub') }) } },
  teams: { isolationFields: { all: { ...TENANT, team: claims('teams') } } },
  ruled: { isolationFields: { all: TENANT }, rules: { text: { read: hasRole('hr') } } },
  hidden: { isolationFields: { all: TENANT }, visible: { reader: null } },
  guarded: { isolationFields: { all: TENANT }, routes: { get: { guards: [OfAda] } } },
  viewed: { isolationFields: { all: TENANT }, output: (record) => record },
};

const NAMES = Object.keys(ISOLATIONS).flatMap((name) => [name, `${name}-archived`]);
const resources = NAMES.map((name) => {
  const [isolation = '', archived] = name.split('-');
  const { shown, ...outline } = ISOLATIONS[isolation] ?? {};
  return resource({
    fields: { text: IsText({ max: 60, optional: isolation === 'ruled' }) },
    kept: {
      tenant: Prop({ type: String }),
      owner: Prop({ type: String }),
      reader: Prop({ type: String }),
      members: Prop({ type: [String], default: undefined }),
      team: Prop({ type: String }),
      deletedAt: IsTimestamp({ optional: true }),
    },
    ...outline,
    name,
    class: name.replace('-', '').replace(/^./, (first) => first.toUpperCase()),
    ...(archived && { archive: { field: 'deletedAt' } }),
    events: shown ?? { data: 'id' },
  });
});

const PEOPLE = [
  { sub: 'ada', tenant: ACME },
  { sub: 'bob', tenant: ACME },
  { sub: 'eve', tenant: GLOBEX },
];

/** A record that has been written, and the texts that it has had. */
interface Written {
  readonly name: string;
  readonly tenant: string;
  readonly id: string;
  readonly texts: readonly string[];
}

describe('events', () => {
  let app: TestApp;
  const receivers = new Map<string, Receiver>();
  const streams: { client: EventClient; tenant: string }[] = [];
  const written: Written[] = [];

  beforeAll(async () => {
    app = await createResourceApp(
      NotificationsModule.forRoot({ targets: { allowPrivate: true, httpsOnly: false } }),
      ...resources.map((options) => CrudModule.forFeature(options)),
    );
    for (const tenant of [ACME, GLOBEX]) {
      const receiver = await Receiver.start();
      receivers.set(tenant, receiver);
      const events = NAMES.map((name) => `${name}.*`);
      const body = { url: receiver.url, events };
      expect((await app.post('/subscriptions', body, { token: await tokenOf(tenant) })).status).toBe(201);
    }
    for (const person of PEOPLE) {
      const client = await EventClient.open(app.url, { token: await tokenFor(person) });
      streams.push({ client, tenant: person.tenant });
    }
    for (const name of NAMES) for (const person of PEOPLE) written.push(await writeAll(name, person));
  });
  afterAll(async () => {
    for (const { client } of streams) client.close();
    for (const receiver of receivers.values()) await receiver.close();
    await app.close();
  });

  const tokenFor = ({ sub, tenant }: { sub: string; tenant: string }) =>
    tokenOf(tenant, { sub, teams: [`team of ${sub}`], roles: ['hr'] });

  /** Creates, changes, moves, archives, restores and deletes a record. */
  async function writeAll(name: string, person: (typeof PEOPLE)[number]): Promise<Written> {
    const token = await tokenFor(person);
    const texts = ['first', 'second', 'third'].map((word) => `${word} text of ${person.sub} in ${name}.`);
    const created = await app.post(`/${name}`, { text: texts[0] }, { token });
    expect(created.status).toBe(201);
    const id = created.body._id as string;
    const path = `/${name}/${id}`;
    expect((await app.patch(path, { text: texts[1] }, { token })).status).toBe(200);
    const entity = resources.find((options) => options.name === name)?.entity;
    const service = app.app.get<CrudService<Made, Made>>(getCrudServiceToken(entity as never));
    const moved = { owner: 'another', members: ['another'], team: 'another' };
    await service.update(unrestrictedScope(), id, { ...moved, text: texts[2] });
    await service.update(unrestrictedScope(), id, {
      owner: person.sub,
      members: [person.sub],
      team: `team of ${person.sub}`,
    });
    expect((await app.del(path, { token })).status).toBe(200);
    if (name.endsWith('-archived'))
      expect((await app.post(`${path}/restore`, undefined, { token })).status).toBe(200);
    return { name, tenant: person.tenant, id, texts };
  }

  /** What came to a tenant: by its webhooks, and by the streams of its callers. */
  const arrivedAt = (tenant: string): string[] => [
    (receivers.get(tenant)?.received ?? []).map(({ body }) => body.toString()).join('\n'),
    ...streams.filter((stream) => stream.tenant === tenant).map(({ client }) => client.text),
  ];
  const isShown = (name: string) => ISOLATIONS[name.split('-')[0] ?? '']?.shown === true;

  it('of every write reach the tenant of the record', async () => {
    await eventually(() => {
      for (const { id, name, tenant } of written) {
        const last = `${name}.${name.endsWith('-archived') ? 'restored' : 'deleted'}`;
        for (const bytes of arrivedAt(tenant)) {
          const events = bytes.split('\n').filter((line) => line.includes(id));
          expect(events.filter((line) => line.includes(`"${last}"`))).toHaveLength(1);
        }
      }
    });
  });

  it('show a record to a tenant whose callers can all read it', () => {
    for (const { name, tenant, texts } of written.filter((one) => isShown(one.name)))
      for (const bytes of arrivedAt(tenant))
        for (const text of texts) expect([name, bytes]).toEqual([name, expect.stringContaining(text)]);
  });

  it('show nothing of a record that a caller of the tenant cannot read, at no moment', () => {
    for (const { name, tenant, texts } of written.filter((one) => !isShown(one.name)))
      for (const bytes of arrivedAt(tenant))
        expect([name, texts.filter((text) => bytes.includes(text))]).toEqual([name, []]);
  });

  it('tell another tenant nothing, not even an identifier', () => {
    for (const tenant of [ACME, GLOBEX]) {
      const others = written.filter((one) => one.tenant !== tenant);
      for (const bytes of arrivedAt(tenant))
        expect(others.filter(({ id, texts }) => [id, ...texts].some((text) => bytes.includes(text)))).toEqual(
          [],
        );
    }
  });
});
