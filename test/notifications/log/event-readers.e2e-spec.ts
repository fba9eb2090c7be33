import { Prop } from '@nestjs/mongoose';
import { claim, CrudModule, hasRole, IsListOf, IsText, unlessCaller } from '../../../src/index.js';
import { NotificationsModule } from '../../../src/common/notifications/index.js';
import { guardBy } from '../../support/guarded-app.js';
import { createResourceApp } from '../../support/resource-app.js';
import { below, feature, OF_TENANT, type Outline, resource } from '../../support/resource.js';
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
  });

  const byTenant = '"tenant" isolates reads';
  it.each<[string, string, Partial<Outline>]>([
    ['that nobody can read', 'the action get is disabled', { disable: ['get'] }],
    [
      'isolated by a field from which some callers are exempt',
      byTenant,
      { isolationFields: { all: unlessCaller(hasRole('support'), TENANT) } },
    ],
    ['isolated by a field with several tenants', byTenant, { kept: { tenant: severalTenants } }],
  ])('does not start below a parent %s', async (_what, reason, options) => {
    const above = resource({ ...drafts, ...options });
    await expect(start(above, remarksBelow(above))).rejects.toThrow(`since ${reason} of Draft.`);
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
});
