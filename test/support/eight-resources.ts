import { Body, Injectable, NotFoundException, Param, StreamableFile } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { type mongo, Types } from 'mongoose';
import { BookingsModule } from '../../examples/bookings/bookings.module.js';
import { LedgerModule } from '../../examples/ledger/ledger.module.js';
import { PriceRulesModule } from '../../examples/price-rules/price-rules.module.js';
import { ProfileModule } from '../../examples/profile/profile.module.js';
import {
  anyOf,
  claim,
  CrudAction,
  CrudController,
  CrudModule,
  CrudService,
  CurrentScope,
  currentTenant,
  IsFlag,
  IsIdentifier,
  IsNested,
  IsReference,
  IsText,
  IsTextList,
  IsWholeNumber,
  type TenantScope,
  unlessCaller,
} from '../../src/index.js';
import { feature, resource } from './resource.js';

const ofTenant = { kept: { tenant: IsIdentifier() }, isolationFields: { all: { tenant: currentTenant } } };
const BYTES = 'application/octet-stream';
const person = IsText({ max: 40 });

class Address {
  @IsText({ max: 80 }) street!: string;
  @IsText({ max: 40 }) city!: string;
}
const properties = feature({
  name: 'properties',
  fields: {
    title: IsText({ max: 80 }),
    address: IsNested(() => Address),
    nightlyCents: IsWholeNumber({ min: 0 }),
    amenities: IsTextList({ maxEntries: 30, entry: { max: 30 }, optional: true }),
    listed: IsFlag({ default: false }),
  },
  ...ofTenant,
  query: {
    filter: ['address.city', 'nightlyCents', 'amenities', 'listed'],
    sort: ['nightlyCents'],
    search: ['title', 'address.city'],
  },
});

const bySender = { sender: claim('sub') };
const byEither = anyOf(bySender, { recipient: claim('sub') });
const messages = feature({
  name: 'messages',
  fields: { recipient: person, text: IsText({ max: 2_000 }) },
  kept: { sender: person },
  isolationFields: { create: bySender, get: byEither, update: bySender, del: bySender },
  query: { filter: ['sender', 'recipient'], search: ['text'] },
});

const owner = { owner: claim('sub') };
const workspaces = resource({
  name: 'workspaces',
  fields: {
    name: IsText({ max: 80 }),
    members: IsTextList({ maxEntries: 50, entry: { max: 40 }, optional: true }),
  },
  kept: { owner: person },
  isolationFields: { all: { members: claim('sub') }, create: owner, del: owner },
});
/** What every member of a workspace reads and changes. */
const tasks = feature({
  name: 'tasks',
  path: 'workspaces/:workspaceId/tasks',
  parent: { entity: workspaces.entity, param: 'workspaceId', field: 'workspace' },
  fields: { text: IsText({ max: 200 }) },
  kept: { author: person, workspace: IsReference(() => workspaces.entity) },
  // The workspace decides who reads them.
  isolationFields: { all: unlessCaller(() => true, { author: claim('sub') }) },
  references: { workspace: { to: workspaces.entity, onDelete: 'cascade' } },
});

const documents = resource({
  name: 'documents',
  fields: { name: IsText({ max: 200 }) },
  ...ofTenant,
  kept: {
    ...ofTenant.kept,
    bytes: IsWholeNumber({ optional: true }),
    content: Prop({ type: Buffer, select: false }),
  },
  query: { filter: ['bytes'], search: ['name'] },
});
@Injectable()
class DocumentsService extends CrudService.for(documents) {
  async content(scope: TenantScope, id: string) {
    const stages = [{ $match: { _id: new Types.ObjectId(id) } }, { $project: { content: 1 } }];
    const [found] = await this.aggregate<{ content?: mongo.Binary }>(scope, stages);
    if (!found?.content) throw new NotFoundException('There is no such document, or it is empty.');
    return found.content.buffer;
  }
}
class DocumentsController extends CrudController(documents, DocumentsService) {
  @CrudAction(documents, { method: 'PUT', path: ':id/content', consumes: BYTES, isolatedAs: 'update' })
  upload(@CurrentScope() scope: TenantScope, @Param('id') id: string, @Body() content: Buffer) {
    return this.service.update(scope, id, { content, bytes: content.length });
  }

  @CrudAction(documents, { method: 'GET', path: ':id/content', isolatedAs: 'get', response: BYTES })
  async download(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return new StreamableFile(await this.service.content(scope, id));
  }
}

/** Eight resources of real products, those of the examples among them. */
export const EIGHT = [
  properties,
  messages,
  CrudModule.forFeature(documents, { controller: DocumentsController, service: DocumentsService }),
  CrudModule.forFeature(workspaces),
  tasks,
  ...[BookingsModule, LedgerModule, PriceRulesModule, ProfileModule],
];
