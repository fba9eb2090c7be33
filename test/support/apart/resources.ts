import type { Type } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { AuditEntry, AuditEntryInput, CrudModule, type CrudOptions } from '../../../src/common/crud/index.js';
import * as f from '../../../src/common/fields/index.js';
import { anyOf, claim, claims, currentTenant, hasRole, unlessCaller } from '../../../src/index.js';
import { NotificationsModule } from '../../../src/common/notifications/index.js';
import { PostsModule } from '../../../src/posts/posts.module.js';
import { TodosModule } from '../../../src/todos/todos.module.js';
import { AdminGuard } from '../guarded-app.js';
import { type Fields, type Outline, resource } from '../resource.js';
import { createResourceApp } from '../resource-app.js';
import { SERVICE_SURFACES, type Surface, surfaceOf } from './surfaces.js';

const optional = { optional: true };
const name = f.IsText({ min: 1, max: 200 });
const level = f.IsWholeNumber({ min: 0, max: 9, ...optional });
const code = f.IsText({ min: 1, max: 40, ...optional });
const unique = [Prop({ type: String, unique: true, sparse: true }), code];
const secret = Prop({ type: String, select: false });
const closedAt = Prop({ type: Date });
const ofTenant = { tenant: currentTenant };
const sender = { sender: claim('sub') };
const either = anyOf(sender, { recipient: claim('sub') });
const batches = { bulk: true, import: true };
const archive = { field: 'closedAt' };
const to = ({ entity }: { entity: Type<object> }) => f.IsReference(() => entity, optional);

/** With names that can be filtered, sorted and searched. */
const named = ({ fields, query, ...more }: Outline) =>
  resource({
    fields: { name, ...(fields as Fields) },
    query: { filter: ['_id', 'name'], sort: ['name'], search: ['name'], ...query },
    ...more,
  });

/** Of one tenant, unless it says otherwise. */
const owned = ({ kept, ...more }: Outline) =>
  named({ isolationFields: { all: ofTenant }, kept: { tenant: f.IsIdentifier(), ...kept }, ...more });

const keepers = owned({
  name: 'keepers',
  fields: { level },
  kept: { secret },
  query: { filter: ['_id', 'name', 'level', 'tenant'], sort: ['name', 'level'] },
  bulk: true,
});

class Box {
  @f.IsText({ max: 40, optional: true }) label?: string;
  @secret secret?: string;
}

/** With an archive, cards below it, a value unique in its tenant, and every kind of write. */
const vaults = owned({
  name: 'vaults',
  fields: {
    ...{ level, code, keeper: to(keepers) },
    tags: f.IsListOf(f.IsText({ max: 40 }), { max: 5, ...optional }),
    dueAt: f.IsTimestamp(optional),
    box: f.IsNested(() => Box, optional),
  },
  kept: { closedAt, secret },
  archive,
  references: { keeper: { to: keepers.entity } },
  query: {
    filter: ['_id', 'name', 'tags', 'level', 'dueAt', 'box.label', 'keeper', 'tenant', 'closedAt'],
    sort: ['name', ['level', '-dueAt'], '-closedAt'],
    search: ['name', 'tags', 'box.label'],
  },
  ...batches,
});
vaults.schema = f
  .schemaOf(vaults.entity)
  .index({ tenant: 1, code: 1 }, { unique: true, partialFilterExpression: { code: { $exists: true } } });

const vault = f.IsReference(() => vaults.entity);

/** What clients see of a card. */
class CardView {
  @f.IsText({ min: 1, max: 200 }) name!: string;
  @f.IsReference(() => keepers.entity, optional) keeper?: string;
  @f.IsReference(() => vaults.entity) vault!: string;
}

/** Below a vault, shown in part by a class. */
const cards = owned({
  name: 'cards',
  path: 'vaults/:vaultId/cards',
  parent: { entity: vaults.entity, param: 'vaultId', field: 'vault' },
  fields: { keeper: to(keepers) },
  kept: { vault, secret: Prop({ type: String }) },
  output: CardView as never,
  references: { keeper: { to: keepers.entity }, vault: { to: vaults.entity } },
  query: { filter: ['_id', 'name', 'keeper'] },
  ...batches,
});

/** Of one person of a tenant. */
const diaries = owned({
  name: 'diaries',
  kept: { owner: Prop({ type: String }) },
  isolationFields: { all: { ...ofTenant, owner: claim('sub') } },
  query: { filter: ['_id', 'name', 'owner', 'tenant'] },
  import: true,
});

/** Everybody's to read unless it is withdrawn, and each tenant's to write; its fee is shown to its own tenant only. */
const notices = owned({
  name: 'notices',
  fields: { vault: to(vaults), diary: to(diaries) },
  kept: { withdrawn: Prop({ type: Boolean }), fee: Prop({ type: Number }), secret },
  isolationFields: { create: ofTenant, update: ofTenant, del: ofTenant },
  visible: { withdrawn: null },
  output: {
    from: ({ _id, name, vault, diary, tenant, fee }, caller) => {
      const mine = caller.tenant === tenant;
      return { _id, name, vault, diary, mine, ...(mine && { fee }) };
    },
    hides: ['tenant', 'withdrawn', 'fee'],
  },
  references: { vault: { to: vaults.entity }, diary: { to: diaries.entity } },
  query: { filter: ['_id', 'name', 'vault'], sort: ['name', '-updatedAt'] },
  bulk: true,
});

/** Of those whom a list names. */
const circles = named({
  name: 'circles',
  fields: { members: f.IsListOf(f.IsText({ max: 20 }), { max: 9, ...optional }) },
  isolationFields: { all: { members: claim('sub') } },
  query: { filter: ['_id', 'name', 'members'] },
  ...batches,
});

const adminsOnly = { guards: [AdminGuard], errors: [403] };
const dossiers = owned({
  name: 'dossiers',
  query: { filter: ['name'], sort: [], search: [] },
  routes: { get: adminsOnly, create: adminsOnly, update: adminsOnly, del: adminsOnly },
});

class SheetInput {
  @f.IsText({ min: 1, max: 200 }) name!: string;
  @f.IsText({ max: 24, ...optional }) tenant?: string;
  @Prop({ unique: true, sparse: true }) @f.IsText({ min: 1, max: 40, ...optional }) code?: string;
}
class PlainSheet extends SheetInput {
  @f.IsWholeNumber({ min: 0, max: 9, ...optional }) level?: number;
}
class DatedSheet extends SheetInput {
  @f.IsListOf(f.IsWholeNumber({ min: 1, max: 7 }), { max: 7 }) days!: number[];
}

/** Of all tenants of a caller, in two kinds. */
const sheets = resource({
  name: 'sheets',
  fields: SheetInput,
  kinds: { plain: PlainSheet, dated: DatedSheet } as never,
  isolationFields: { all: { tenant: claims('tenants') } },
  query: { filter: ['_id', 'name', 'code', 'tenant'], sort: ['name'], search: ['name'] },
  ...batches,
});

/** Of a tenant, but for those who support it, with a field for some and every reaction to deletions. */
const tickets = owned({
  name: 'tickets',
  fields: {
    ...{ code: unique, salary: level },
    ...{ circle: to(circles), above: to(circles), needed: to(circles), dossier: to(dossiers) },
  },
  kept: { closedAt },
  isolationFields: { all: unlessCaller(hasRole('support'), ofTenant) },
  rules: { salary: { read: hasRole('hr'), write: hasRole('hr') } },
  archive,
  references: {
    circle: { to: circles.entity, onDelete: 'unset' },
    above: { to: circles.entity, onDelete: 'cascade' },
    needed: { to: circles.entity, onDelete: 'restrict' },
    dossier: { to: dossiers.entity },
  },
  query: {
    filter: ['_id', 'name', 'code', 'salary', 'circle', 'circle.name', 'dossier.name', 'closedAt'],
    sort: ['name', 'salary', '-closedAt'],
  },
  ...batches,
  audit: true,
});

/** Of two people to read, and of one to write. */
const letters = named({
  name: 'letters',
  fields: { recipient: f.IsText({ max: 20 }), code: unique, ticket: to(tickets) },
  kept: { sender: Prop({ type: String }), closedAt },
  isolationFields: { create: sender, get: either, update: sender, del: sender },
  references: { ticket: { to: tickets.entity, onDelete: 'restrict' } },
  archive,
  query: { filter: ['_id', 'name', 'recipient', 'sender', 'code', 'closedAt'], sort: ['name', '-closedAt'] },
  ...batches,
  audit: true,
});

/** Below a circle, with events. */
const remarks = owned({
  name: 'remarks',
  path: 'circles/:circleId/remarks',
  parent: { entity: circles.entity, param: 'circleId', field: 'circle' },
  kept: { circle: f.IsReference(() => circles.entity) },
  references: { circle: { to: circles.entity, onDelete: 'cascade' } },
  bulk: true,
  events: { data: 'id' },
});

const audits: CrudOptions<AuditEntry, AuditEntryInput> = {
  entity: AuditEntry,
  input: AuditEntryInput,
  name: 'audits',
  disable: ['create', 'update', 'del'],
  isolationFields: { all: { ...ofTenant, subject: claim('sub') } },
  query: { filter: ['resource', 'record', 'action'] },
};

/** What is public, and what is isolated by tenants, persons, lists, several values, either of two fields, roles, guards and parents. */
export const SURFACES: readonly Surface[] = [
  ...SERVICE_SURFACES,
  surfaceOf(keepers, 'name! level'),
  surfaceOf(vaults, 'name! tags level dueAt box keeper code'),
  surfaceOf(cards, 'name! keeper'),
  surfaceOf(diaries, 'name!'),
  surfaceOf(notices, 'name! vault diary', 'fee'),
  surfaceOf(circles, 'name! members'),
  surfaceOf(dossiers, 'name!'),
  surfaceOf(sheets, 'name! kind! days! tenant code level'),
  surfaceOf(tickets, 'name! code circle above needed dossier'),
  surfaceOf(letters, 'name! recipient! code ticket'),
  surfaceOf(remarks, 'name!'),
  surfaceOf(audits as never, '', 'resource'),
];

const owns = [keepers, vaults, cards, diaries, notices, circles, dossiers, sheets, tickets, letters, remarks];

/** Starts a service with the resources of {@link SURFACES}, and the stream of their events. */
export const createWholeApp = () =>
  createResourceApp(
    PostsModule,
    TodosModule.forRoot({ implementation: 'generated' }),
    NotificationsModule.forRoot({ targets: { allowPrivate: true, httpsOnly: false } }),
    ...owns.map((options) => CrudModule.forFeature(options, { providers: [AdminGuard] })),
    CrudModule.forFeature(audits),
  );
