import { type CanActivate, Injectable } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudModule, type CrudOptions } from '../../../src/common/crud/index.js';
import { IsText } from '../../../src/common/fields/index.js';
import { NotificationsModule } from '../../../src/common/notifications/index.js';
import { claim, currentTenant } from '../../../src/common/tenancy/index.js';
import { eventually } from '../../support/eventually.js';
import { createResourceApp } from '../../support/resource-app.js';
import { ACME, tokenOf } from '../../support/tenants.js';

class DraftInput {
  @IsText({ min: 1, max: 100 })
  title!: string;
}

@Schema({ timestamps: true })
class Draft extends DraftInput {
  @Prop({ type: Types.ObjectId })
  tenant!: Types.ObjectId;

  @Prop({ type: String })
  owner?: string;

  @Prop({ type: Date })
  deletedAt?: Date;
}

class RemarkInput {
  @IsText({ min: 1, max: 100 })
  text!: string;
}

@Schema({ timestamps: true })
class Remark extends RemarkInput {
  @Prop({ type: Types.ObjectId })
  draft!: Types.ObjectId;

  @Prop({ type: Types.ObjectId })
  tenant!: Types.ObjectId;
}

@Injectable()
class Nobody implements CanActivate {
  canActivate(): boolean {
    return false;
  }
}

const TENANT = { tenant: currentTenant };
const OWNER = { ...TENANT, owner: claim('sub') };
const drafts: CrudOptions<Draft, DraftInput> = {
  entity: Draft,
  input: DraftInput,
  name: 'drafts',
  isolationFields: { all: TENANT },
};
const remarks = {
  entity: Remark,
  input: RemarkInput,
  name: 'remarks',
  path: 'drafts/:draftId/remarks',
  parent: { entity: Draft, param: 'draftId', field: 'draft' },
  isolationFields: { all: TENANT },
} satisfies CrudOptions<Remark, RemarkInput>;

/** Options of a resource some of whose records some callers of the tenant cannot read, and why. */
const UNREADABLE: Readonly<Record<string, Partial<CrudOptions<Draft, DraftInput>>>> = {
  'the action get is disabled': { disable: ['get'] },
  '"owner" isolates reads': { isolationFields: { all: OWNER } },
  'the option visible hides records': { visible: { owner: 'ada' } },
  'the option fields or output shows it differently to callers': { output: (record) => record },
  'the routes of get have guards or decorators': { routes: { get: { guards: [Nobody] } } },
};

const start = (...resources: CrudOptions<never, never>[]) =>
  createResourceApp(
    NotificationsModule.forRoot({ worker: false }),
    ...resources.map((options) => CrudModule.forFeature(options)),
  );

describe('a resource with events', () => {
  it.each(Object.entries(UNREADABLE))('does not start if %s', async (reason, options) => {
    const resource = { ...drafts, ...options, events: true };
    await expect(start(resource as never)).rejects.toThrow(
      `CrudModule.forFeature(Draft): events would show a record to callers who may not read it, since ${reason}. Write events: { data: 'id' }.`,
    );
    // A parent that they cannot read hides the records below it.
    const below = [
      { ...drafts, ...options },
      { ...remarks, events: true },
    ];
    await expect(start(...(below as never[]))).rejects.toThrow(`since ${reason} of Draft.`);
  });

  it('does not start if an owner alone may read what is archived', async () => {
    const isolationFields = { create: TENANT, get: TENANT, count: TENANT, update: OWNER, del: OWNER };
    const resource = { ...drafts, isolationFields, archive: { field: 'deletedAt' }, events: true };
    await expect(start(resource as never)).rejects.toThrow('since "owner" isolates reads.');
  });

  it('does not start without notifications', async () => {
    const resource = CrudModule.forFeature({ ...drafts, events: true });
    const { createTestApp } = await import('../../support/test-app.js');
    const root = () => ({
      module: class {},
      imports: [CrudModule.forRoot({ database: { memory: true } }), resource],
    });
    await expect(createTestApp({ root })).rejects.toThrow('nobody delivers its events');
  });

  it.each([
    ['an archive', { archive: { field: 'deletedAt' } }, ['created', 'updated', 'archived', 'restored']],
    ['deletion', {}, ['created', 'updated', 'deleted']],
  ] as const)('with an owner and %s shows its identifier alone', async (_what, options, verbs) => {
    const isolationFields = { all: OWNER };
    const app = await start({ ...drafts, ...options, isolationFields, events: { data: 'id' } } as never);
    try {
      const token = await tokenOf(ACME, { sub: 'ada' });
      const id = (await app.post('/drafts', { title: 'Secret plan' }, { token })).body._id as string;
      await app.patch(`/drafts/${id}`, { title: 'Secret plot' }, { token });
      await app.del(`/drafts/${id}`, { token });
      if ('archive' in options) await app.post(`/drafts/${id}/restore`, {}, { token });
      const logged = () => app.database.collection('events').find().sort({ seq: 1 }).toArray();
      await eventually(async () => expect(await logged()).toHaveLength(verbs.length));
      const events = await logged();
      expect(events.map(({ type }) => type as string)).toEqual(verbs.map((verb) => `drafts.${verb}`));
      for (const { type, body } of events) {
        const { timestamp, ...rest } = JSON.parse(body as string) as Record<string, unknown>;
        expect([typeof timestamp, rest]).toEqual(['string', { type, data: { _id: id } }]);
      }
    } finally {
      await app.close();
    }
  });
});
