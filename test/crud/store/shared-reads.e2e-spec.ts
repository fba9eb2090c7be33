/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { CrudModule, CrudService, type PageQuery } from '../../../src/common/crud/index.js';
import { IsText, IsWholeNumber } from '../../../src/common/fields/index.js';
import type { TenantScope } from '../../../src/common/tenancy/index.js';
import { Random } from '../../support/random.js';
import { useResourceApp } from '../../support/resource-app.js';
import { commandsOf } from '../../support/sent-commands.js';
import { ACME, acme, GLOBEX, globex, tokenOf } from '../../support/tenants.js';
import { type Made, OF_TENANT, resource } from '../../support/resource.js';

class EntryInput {
  @IsText({ max: 40 }) owner!: string;
  @IsWholeNumber({ min: 0 }) step!: number;
  @Prop({ unique: true, sparse: true }) @IsText({ max: 20, optional: true }) code?: string;
}

const entries = resource({
  name: 'entries',
  class: 'Entry',
  fields: EntryInput,
  ...OF_TENANT,
  kept: { ...OF_TENANT.kept, endedAt: Prop({ type: Date }) },
  globallyUnique: ['code'],
  archive: { field: 'endedAt' },
});

const drafts = resource({ name: 'drafts', fields: EntryInput });

const mark = (draft: Made) => Object.assign(draft, { owner: `${String(draft.owner)}!` });

/** Changes the records that it is given. */
class DraftsService extends CrudService.for(drafts) {
  override get = async (...args: Parameters<CrudService<Made, Made>['get']>) =>
    mark(await super.get(...args)) as never;

  override async page(scope: TenantScope, query: PageQuery) {
    const page = await super.page(scope, query);
    page.results.forEach(mark);
    return page;
  }
}

/** A record as its one writer knows it. */
interface Known {
  readonly id: string;
  readonly tenant: string;
  /** The step of the last write that has begun, and of the last one that was acknowledged. */
  begun: number;
  acknowledged: number;
  archiving: boolean;
  archived: boolean;
}

const CLIENTS = 16;
const OPERATIONS = 20;
const LIMIT = 100;

/** A request of a tenant. */
const as = (tenant: string) => ({ token: tenant === ACME ? acme : globex });
const app = useResourceApp(entries, CrudModule.forFeature(drafts, { service: DraftsService }));
beforeEach(() => app.empty());

const times = <T>(count: number, run: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => run(i)));

/** The tenants' records as their writers know them, and what readers saw that they should not have seen. */
class Ledger {
  readonly known: Known[] = [];
  readonly faults: string[] = [];
  /** How many creates have begun, by their tenants. */
  private readonly begun: Record<string, number> = { [ACME]: 0, [GLOBEX]: 0 };

  async create(tenant: string): Promise<Known> {
    this.begun[tenant] = (this.begun[tenant] ?? 0) + 1;
    const { status, body } = await app.post('/entries', { owner: tenant, step: 0 }, as(tenant));
    this.expect(status === 201, `create: ${status}`);
    const id = body._id as string;
    const record = { id, tenant, begun: 0, acknowledged: 0, archiving: false, archived: false };
    this.known.push(record);
    return record;
  }

  async createTwin(owner: string): Promise<void> {
    const { status } = await app.post('/entries', { owner, step: 0, code: 'taken' }, as(owner));
    this.expect(status === 409, `create: ${status}`);
  }

  async patch(record: Known): Promise<void> {
    const step = ++record.begun;
    const { status } = await app.patch(`/entries/${record.id}`, { step }, as(record.tenant));
    this.expect(status === 200, `patch: ${status}`);
    record.acknowledged = step;
  }

  async archive(record: Known): Promise<void> {
    record.archiving = true;
    const { status } = await app.del(`/entries/${record.id}`, as(record.tenant));
    this.expect(status === 200, `archive: ${status}`);
    record.archived = true;
  }

  async get(tenant: string, record: Known): Promise<void> {
    const before = { ...record };
    const { status, body } = await app.get(`/entries/${record.id}`, as(tenant));
    this.compare('get', tenant, before, record, status === 404 ? undefined : (body as EntryInput));
  }

  async list(tenant: string): Promise<void> {
    const before = this.of(tenant);
    const { body } = await app.get(`/entries?limit=${LIMIT}`, as(tenant));
    const results = body.results as (EntryInput & { _id: string })[];
    const seen = new Map(results.map((entry) => [entry._id, entry]));
    for (const { owner } of results) this.expect(owner === tenant, 'list: of another tenant');
    for (const [record, known] of before) this.compare('list', tenant, known, record, seen.get(record.id));
    this.compareCount(tenant, before, body.count as number);
  }

  async count(tenant: string): Promise<void> {
    const before = this.of(tenant);
    const { body } = await app.get('/entries/count', as(tenant));
    this.compareCount(tenant, before, body.count as number);
  }

  /** The records of a tenant, each with what is known of it now. */
  private of(tenant: string): ReadonlyMap<Known, Known> {
    return new Map(this.known.filter((one) => one.tenant === tenant).map((one) => [one, { ...one }]));
  }

  /** Compares what a tenant was shown of a record with what was known before and after. */
  private compare(read: string, tenant: string, before: Known, after: Known, shown?: EntryInput): void {
    const isHidden = before.archived || before.tenant !== tenant;
    if (!shown) return this.expect(isHidden || after.archiving, `${read}: missing`);
    this.expect(!isHidden && shown.owner === tenant, `${read}: of another tenant, or archived`);
    const isFresh = shown.step >= before.acknowledged && shown.step <= after.begun;
    this.expect(isFresh, `${read}: step ${shown.step} of ${before.acknowledged} to ${after.begun}`);
  }

  private compareCount(tenant: string, before: ReadonlyMap<Known, Known>, count: number): void {
    const least = [...before.keys()].filter(({ archiving }) => !archiving).length;
    const most = (this.begun[tenant] ?? 0) - [...before.values()].filter(({ archived }) => archived).length;
    this.expect(count >= least && count <= most, `count: ${count} of ${least} to ${most}`);
  }

  private expect(holds: boolean, fault: string): void {
    if (!holds) this.faults.push(fault);
  }
}

describe('concurrent reads', () => {
  it('each see every write that was acknowledged before they began, and nothing hidden', async () => {
    const ledger = new Ledger();
    const nobody = tokenOf('665f1c2ab7e3a90d4c8b0003');
    await app.create('/entries', { owner: 'nobody', step: 0, code: 'taken' }, nobody);
    await times(CLIENTS, async (client) => {
      const random = new Random(client + 1);
      const tenant = client % 2 === 0 ? ACME : GLOBEX;
      const own: Known[] = [];
      for (let i = 0; i < OPERATIONS; i++) {
        const mine = own.filter(({ archived }) => !archived);
        const [record, other] = [random.pick(mine), random.pick(ledger.known)] as (Known | undefined)[];
        const chance = random.next();
        if (!record || chance < 0.1) own.push(await ledger.create(tenant));
        else if (chance < 0.15) await ledger.createTwin(tenant);
        else if (chance < 0.4) await ledger.patch(record);
        else if (chance < 0.45) await ledger.archive(record);
        else if (chance < 0.8 && other) await ledger.get(random.chance(0.8) ? other.tenant : tenant, other);
        else if (chance < 0.9) await ledger.list(tenant);
        else await ledger.count(tenant);
      }
    });
    expect(ledger.faults).toEqual([]);
  }, 120_000);

  it('of single records share commands, and each gets its own', async () => {
    const ids = await times(60, (i) => app.create('/drafts', { owner: `draft ${i}`, step: i }));
    const all = [...ids.entries(), ...ids.entries()];
    const sent = await commandsOf(app, async () => {
      const answered = await Promise.all(all.map(([, id]) => app.get(`/drafts/${id}`)));
      // The override changes each record once: nobody gets what it has made of another one.
      const expected = all.map(([i, id]) => [id, `draft ${i}!`]);
      expect(answered.map(({ body }) => [body._id as string, body.owner as string])).toEqual(expected);
    });
    expect(sent.length).toBeLessThan(120);
  });

  it('of equal pages and counts share commands, and differ in nothing else', async () => {
    await times(3, (i) => app.post('/drafts', { owner: `draft ${i}`, step: i }));
    const sent = await commandsOf(app, async () => {
      const pages = await times(60, (i) => app.get(`/drafts?limit=${(i % 2) + 1}&fields=owner`));
      for (const [i, { body }] of pages.entries()) {
        expect(body.count).toBe(3);
        expect(body.results).toHaveLength((i % 2) + 1);
        for (const { owner } of body.results) expect(owner).toMatch(/^draft \d!$/);
      }
    });
    expect(sent.length).toBeLessThan(120);
  });
});
