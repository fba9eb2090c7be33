import { Prop } from '@nestjs/mongoose';
import {
  claim,
  CrudModule,
  hasRole,
  IsIdentifier,
  IsListOf,
  IsText,
  unlessCaller,
} from '../../../src/index.js';
import { NotificationsModule } from '../../../src/common/notifications/index.js';
import { eventually } from '../../support/eventually.js';
import { guardBy } from '../../support/guarded-app.js';
import { createResourceApp } from '../../support/resource-app.js';
import { below, feature, OF_TENANT, type Outline, resource } from '../../support/resource.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { createTestApp } from '../../support/test-app.js';

const TENANT = OF_TENANT.isolationFields.all;
const OWNER = { ...TENANT, owner: claim('sub') };
const drafts: Outline = {
  name: 'drafts',
  ...OF_TENANT,
  kept: { ...OF_TENANT.kept, owner: Prop({ type: String }), deletedAt: Prop({ type: Date }) },
};
const remarksBelow = (above: ReturnType<typeof resource>) =>
  below(above, { name: 'remarks', ...OF_TENANT, events: true });
const severalTenants = IsListOf(IsText({ max: 24 }), { max: 3 });

/** Options of a resource some of whose records some callers of the tenant cannot read, and why. */
const UNREADABLE: Readonly<Record<string, Partial<Outline>>> = {
  'the action get is disabled': { disable: ['get'] },
  '"owner" isolates reads': { isolationFields: { all: OWNER } },
  'the option visible hides records': { visible: { owner: 'ada' } },
  'the option fields or output shows it differently to callers': { output: (record) => record },
  'the routes of get have guards or decorators': { routes: { get: { guards: [guardBy(() => false)] } } },
};

const start = (...resources: ReturnType<typeof resource>[]) =>
  createResourceApp(NotificationsModule.forRoot({ worker: false }), ...resources);

describe('a resource with events', () => {
  it.each(Object.entries(UNREADABLE))('does not start if %s', async (reason, options) => {
    await expect(start(resource({ ...drafts, ...options, events: true }))).rejects.toThrow(
      `CrudModule.forFeature(Draft): events would show a record to callers who may not read it, since ${reason}. Write events: { data: 'id' }.`,
    );
    // A parent that they cannot read hides the records below it.
    const above = resource({ ...drafts, ...options });
    await expect(start(above, remarksBelow(above))).rejects.toThrow(`since ${reason} of Draft.`);
  });

  it.each([
    ['from which some callers are exempt', IsIdentifier(), unlessCaller(hasRole('support'), TENANT)],
    ['with several tenants', severalTenants, TENANT],
  ])('does not start below a parent isolated by a field %s', async (_what, tenant, all) => {
    const above = resource({ ...drafts, kept: { tenant }, isolationFields: { all } });
    await expect(start(above, remarksBelow(above))).rejects.toThrow(
      'since "tenant" isolates reads of Draft.',
    );
  });

  it.each([true, { data: 'id' } as const])('does not start with several tenants: %j', async (events) => {
    const kept = { tenant: severalTenants };
    await expect(start(resource({ ...drafts, kept, events }))).rejects.toThrow('"tenant" has several');
  });

  it('does not start if an owner alone may read what is archived', async () => {
    const isolationFields = { create: TENANT, get: TENANT, update: OWNER, del: OWNER };
    const options = { ...drafts, isolationFields, archive: { field: 'deletedAt' }, events: true };
    await expect(start(resource(options))).rejects.toThrow('since "owner" isolates reads.');
  });

  it('does not start without notifications', async () => {
    const root = CrudModule.forRoot({ database: { memory: true } });
    const imports = [root, feature({ ...drafts, events: true })];
    await expect(createTestApp({ root: () => ({ module: class {}, imports }) })).rejects.toThrow(
      'nobody delivers its events',
    );
  });

  it.each([
    ['an archive', { archive: { field: 'deletedAt' } }, ['created', 'updated', 'archived', 'restored']],
    ['deletion', {}, ['created', 'updated', 'deleted']],
  ] as const)('with an owner and %s shows its identifier alone', async (_what, options, verbs) => {
    const ofOwner = { isolationFields: { all: OWNER }, events: { data: 'id' } } as const;
    await using app = await start(resource({ ...drafts, ...options, ...ofOwner }));
    const token = tokenOf(ACME, { sub: 'ada' });
    const id = await app.create('/drafts', { text: 'Secret plan' }, token);
    await app.patch(`/drafts/${id}`, { text: 'Secret plot' }, { token });
    await app.del(`/drafts/${id}`, { token });
    if ('archive' in options) await app.post(`/drafts/${id}/restore`, {}, { token });
    const logged = () => app.database.collection('events').find().sort({ seq: 1 }).toArray();
    await eventually(async () => expect(await logged()).toHaveLength(verbs.length));
    const types = verbs.map((verb) => `drafts.${verb}`);
    expect((await logged()).map(({ body }) => JSON.parse(body as string) as object)).toEqual(
      types.map((type) => ({ type, timestamp: expect.any(String), data: { _id: id } })),
    );
    expect((await logged()).map(({ type }) => type as string)).toEqual(types);
  });
});
