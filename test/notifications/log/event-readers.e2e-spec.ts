import { type CanActivate, Injectable } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { NotificationsModule } from '../../../src/common/notifications/index.js';
import { IsTextList } from '../../../src/common/fields/index.js';
import { claim, currentTenant, hasRole, unlessCaller } from '../../../src/common/tenancy/index.js';
import { eventually } from '../../support/eventually.js';
import { createResourceApp } from '../../support/resource-app.js';
import { below, feature, type Outline, resource } from '../../support/resource.js';
import { ACME, tokenOf } from '../../support/tenants.js';
import { createTestApp } from '../../support/test-app.js';

@Injectable()
class Nobody implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

const objectId = Prop({ type: Types.ObjectId });
const TENANT = { tenant: currentTenant };
const OWNER = { ...TENANT, owner: claim('sub') };
const drafts: Outline = {
  name: 'drafts',
  kept: { tenant: objectId, owner: Prop({ type: String }), deletedAt: Prop({ type: Date }) },
  isolationFields: { all: TENANT },
};

/** Options of a resource some of whose records some callers of the tenant cannot read, and why. */
const UNREADABLE: Readonly<Record<string, Partial<Outline>>> = {
  'the action get is disabled': { disable: ['get'] },
  '"owner" isolates reads': { isolationFields: { all: OWNER } },
  'the option visible hides records': { visible: { owner: 'ada' } },
  'the option fields or output shows it differently to callers': { output: (record) => record },
  'the routes of get have guards or decorators': { routes: { get: { guards: [Nobody] } } },
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
    const ofTenant = { kept: { tenant: objectId }, isolationFields: { all: TENANT } };
    const remarks = below(above, { name: 'remarks', ...ofTenant, events: true });
    await expect(start(above, remarks)).rejects.toThrow(`since ${reason} of Draft.`);
  });

  it.each([
    ['from which some callers are exempt', objectId, unlessCaller(hasRole('support'), TENANT)],
    ['with several tenants', IsTextList({ maxEntries: 3, entry: { max: 24 } }), TENANT],
  ])('does not start below a parent isolated by a field %s', async (_what, field, all) => {
    const above = resource({ ...drafts, kept: { tenant: field }, isolationFields: { all } });
    const isolationFields = { all: TENANT };
    const remarks = below(above, {
      name: 'remarks',
      kept: { tenant: objectId },
      isolationFields,
      events: true,
    });
    await expect(start(above, remarks)).rejects.toThrow('since "tenant" isolates reads of Draft.');
  });

  it.each([true, { data: 'id' } as const])(
    'does not start if a record has several tenants: %j',
    async (events) => {
      const kept = { tenant: IsTextList({ maxEntries: 3, entry: { max: 24 } }) };
      await expect(start(resource({ ...drafts, kept, events }))).rejects.toThrow('"tenant" has several');
    },
  );

  it('does not start if an owner alone may read what is archived', async () => {
    const isolationFields = { create: TENANT, get: TENANT, update: OWNER, del: OWNER };
    const options = { ...drafts, isolationFields, archive: { field: 'deletedAt' }, events: true };
    await expect(start(resource(options))).rejects.toThrow('since "owner" isolates reads.');
  });

  it('does not start without notifications', async () => {
    const imports = [
      CrudModule.forRoot({ database: { memory: true } }),
      feature({ ...drafts, events: true }),
    ];
    const started = createTestApp({ root: () => ({ module: class {}, imports }) });
    await expect(started).rejects.toThrow('nobody delivers its events');
  });

  it.each([
    ['an archive', { archive: { field: 'deletedAt' } }, ['created', 'updated', 'archived', 'restored']],
    ['deletion', {}, ['created', 'updated', 'deleted']],
  ] as const)('with an owner and %s shows its identifier alone', async (_what, options, verbs) => {
    const isolationFields = { all: OWNER };
    await using app = await start(
      resource({ ...drafts, ...options, isolationFields, events: { data: 'id' } }),
    );
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
