import type { DynamicModule } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { AuditEntry, AuditEntryInput, CrudModule } from '../../../src/common/crud/index.js';
import {
  IsIdentifier,
  IsListOf,
  IsReference,
  IsText,
  IsTextList,
  IsWholeNumber,
} from '../../../src/common/fields/index.js';
import { NotificationsModule } from '../../../src/common/notifications/index.js';
import {
  anyOf,
  claim,
  claims,
  currentTenant,
  hasRole,
  unlessCaller,
} from '../../../src/common/tenancy/index.js';
import { AdminGuard } from '../guarded-app.js';
import { resource } from '../resource.js';
import { kinds, PLAIN, type Surface } from './surfaces.js';

const optional = { optional: true };
const name = IsText({ min: 1, max: 200 });
const code = [Prop({ type: String, unique: true, sparse: true }), IsText({ min: 1, max: 40, ...optional })];
const kept = { tenant: IsIdentifier() };
const ofTenant = { tenant: currentTenant };
const sender = { sender: claim('sub') };
const either = anyOf(sender, { recipient: claim('sub') });
const closedAt = Prop({ type: Date });

const circles = resource({
  name: 'circles',
  fields: { name, members: IsTextList({ maxEntries: 9, entry: { max: 20 }, ...optional }) },
  isolationFields: { all: { members: claim('sub') } },
  query: { filter: ['_id', 'name', 'members'], sort: ['name'], search: ['name'] },
  bulk: true,
  import: true,
});

const adminsOnly = { guards: [AdminGuard], errors: [403] };
const dossiers = resource({
  name: 'dossiers',
  fields: { name },
  kept,
  isolationFields: { all: ofTenant },
  query: { filter: ['name'] },
  routes: { get: adminsOnly, create: adminsOnly, update: adminsOnly, del: adminsOnly },
});

class SheetInput {
  @IsText({ min: 1, max: 200 }) name!: string;
  @IsText({ max: 24, ...optional }) tenant?: string;
  @Prop({ unique: true, sparse: true }) @IsText({ min: 1, max: 40, ...optional }) code?: string;
}
class PlainSheet extends SheetInput {
  @IsWholeNumber({ min: 0, max: 9, ...optional }) level?: number;
}
class DatedSheet extends SheetInput {
  @IsListOf(IsWholeNumber({ min: 1, max: 7 }), { max: 7 }) days!: number[];
}
const sheets = resource({
  name: 'sheets',
  fields: SheetInput,
  kinds: { plain: PlainSheet, dated: DatedSheet } as never,
  isolationFields: { all: { tenant: claims('tenants') } },
  query: { filter: ['_id', 'name', 'code', 'tenant'], sort: ['name'], search: ['name'] },
  bulk: true,
  import: true,
});

const circle = IsReference(() => circles.entity, optional);
const tickets = resource({
  name: 'tickets',
  fields: {
    name,
    code,
    salary: IsWholeNumber({ min: 0, max: 9, ...optional }),
    circle,
    above: circle,
    needed: circle,
    dossier: IsReference(() => dossiers.entity, optional),
  },
  kept: { ...kept, closedAt },
  isolationFields: { all: unlessCaller(hasRole('support'), ofTenant) },
  rules: { salary: { read: hasRole('hr'), write: hasRole('hr') } },
  archive: { field: 'closedAt' },
  references: {
    circle: { to: circles.entity, onDelete: 'unset' },
    above: { to: circles.entity, onDelete: 'cascade' },
    needed: { to: circles.entity, onDelete: 'restrict' },
    dossier: { to: dossiers.entity },
  },
  query: {
    filter: ['_id', 'name', 'code', 'salary', 'circle', 'circle.name', 'dossier.name', 'closedAt'],
    sort: ['name', 'salary', '-closedAt'],
    search: ['name'],
  },
  bulk: true,
  import: true,
  audit: true,
});

const letters = resource({
  name: 'letters',
  fields: { name, recipient: IsText({ max: 20 }), code, ticket: IsReference(() => tickets.entity, optional) },
  kept: { sender: Prop({ type: String }), closedAt },
  isolationFields: { create: sender, get: either, count: either, update: sender, del: sender },
  references: { ticket: { to: tickets.entity, onDelete: 'restrict' } },
  archive: { field: 'closedAt' },
  query: {
    filter: ['_id', 'name', 'recipient', 'sender', 'code', 'closedAt'],
    sort: ['name', '-closedAt'],
    search: ['name'],
  },
  bulk: true,
  import: true,
  audit: true,
});

const remarks = resource({
  name: 'remarks',
  path: 'circles/:circleId/remarks',
  parent: { entity: circles.entity, param: 'circleId', field: 'circle' },
  fields: { name },
  kept: { ...kept, circle: IsReference(() => circles.entity) },
  isolationFields: { all: ofTenant },
  references: { circle: { to: circles.entity, onDelete: 'cascade' } },
  query: { filter: ['_id', 'name'], sort: ['name'], search: ['name'] },
  bulk: true,
  events: { data: 'id' },
});

/**
 * Resources that isolate by lists, several values, either of two fields, roles, guards and parents, their audit records,
 * and the stream of their events.
 */
export const whoModules = (): DynamicModule[] => [
  NotificationsModule.forRoot({ targets: { allowPrivate: true, httpsOnly: false } }),
  ...[circles, dossiers, sheets, tickets, letters, remarks].map((options) =>
    CrudModule.forFeature(options, { providers: [AdminGuard] }),
  ),
  CrudModule.forFeature({
    entity: AuditEntry,
    input: AuditEntryInput,
    name: 'audits',
    disable: ['create', 'update', 'del'],
    isolationFields: { all: { ...ofTenant, subject: claim('sub') } },
    query: { filter: ['resource', 'record', 'action'] },
  }),
];

const NEWEST = ['-createdAt'];

export const WHO_SURFACES: readonly Surface[] = [
  {
    ...PLAIN,
    name: 'circles',
    path: '/circles',
    filters: kinds({ identifier: '_id', string: 'name members' }),
    orders: [...NEWEST, 'name'],
    fields: ['name', 'members'],
    batches: ['bulk', 'import'],
    input: 'name! members',
  },
  {
    ...PLAIN,
    name: 'dossiers',
    path: '/dossiers',
    filters: kinds({ string: 'name' }),
    orders: NEWEST,
    fields: ['name'],
    input: 'name!',
  },
  {
    ...PLAIN,
    name: 'letters',
    path: '/letters',
    filters: kinds({ identifier: '_id', string: 'name recipient sender code', timestamp: 'closedAt' }),
    orders: [...NEWEST, 'name', '-closedAt'],
    fields: ['name', 'recipient', 'sender'],
    archive: 'closedAt',
    batches: ['bulk', 'import'],
    expand: ['ticket'],
    input: 'name! recipient! code ticket',
  },
  {
    ...PLAIN,
    name: 'sheets',
    path: '/sheets',
    filters: kinds({ identifier: '_id', string: 'name code tenant' }),
    orders: [...NEWEST, 'name'],
    fields: ['name', 'tenant', 'kind', 'days'],
    batches: ['bulk', 'import'],
    input: 'name! kind! days! tenant code level',
  },
  {
    ...PLAIN,
    name: 'tickets',
    path: '/tickets',
    filters: kinds({
      identifier: '_id circle',
      string: 'name code circle.name dossier.name',
      timestamp: 'closedAt',
    }),
    orders: [...NEWEST, 'name', '-closedAt'],
    fields: ['name', 'circle', 'dossier', 'closedAt'],
    expand: ['circle', 'dossier', 'above,needed'],
    archive: 'closedAt',
    batches: ['bulk', 'import'],
    input: 'name! code circle above needed dossier',
  },
  {
    ...PLAIN,
    name: 'remarks',
    path: '/circles/:circleId/remarks',
    filters: kinds({ identifier: '_id', string: 'name' }),
    orders: [...NEWEST, 'name'],
    fields: ['name', 'circle'],
    expand: ['circle'],
    batches: ['bulk'],
    input: 'name!',
  },
  {
    ...PLAIN,
    name: 'audits',
    path: '/audits',
    filters: kinds({ string: 'resource action', identifier: 'record' }),
    orders: NEWEST,
    fields: ['resource', 'record', 'changed'],
    text: 'resource',
  },
];
