import { Body, Injectable, NotFoundException, Param, StreamableFile } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
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
  crudOptions,
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

const isolationFields = { all: { tenant: currentTenant } };

class Address {
  @IsText({ max: 80 }) street!: string;
  @IsText({ max: 40 }) city!: string;
}
class PropertyInput {
  @IsText({ max: 80 }) title!: string;
  @IsNested(() => Address) address!: Address;
  @IsWholeNumber({ min: 0 }) nightlyCents!: number;
  @IsTextList({ maxEntries: 30, entry: { max: 30 }, optional: true }) amenities?: string[];
  @IsFlag({ default: false }) listed?: boolean;
}
@Schema({ timestamps: true })
class Property extends PropertyInput {
  @IsIdentifier() tenant!: string;
}
const properties = CrudModule.forFeature({
  entity: Property,
  input: PropertyInput,
  name: 'properties',
  isolationFields,
  query: {
    filter: ['address.city', 'nightlyCents', 'amenities', 'listed'],
    sort: ['nightlyCents'],
    search: ['title', 'address.city'],
  },
});

class MessageInput {
  @IsText({ max: 40 }) recipient!: string;
  @IsText({ max: 2_000 }) text!: string;
}
@Schema({ timestamps: true })
class Message extends MessageInput {
  @IsText({ max: 40 }) sender!: string;
}
const bySender = { sender: claim('sub') };
const byEither = anyOf(bySender, { recipient: claim('sub') });
const messages = CrudModule.forFeature({
  entity: Message,
  input: MessageInput,
  name: 'messages',
  isolationFields: { create: bySender, get: byEither, count: byEither, update: bySender, del: bySender },
  query: { filter: ['sender', 'recipient'], search: ['text'] },
});

class WorkspaceInput {
  @IsText({ max: 80 }) name!: string;
  @IsTextList({ maxEntries: 50, entry: { max: 40 }, optional: true }) members?: string[];
}
@Schema({ timestamps: true })
class Workspace extends WorkspaceInput {
  @IsText({ max: 40 }) owner!: string;
}
const member = { members: claim('sub') };
const owner = { owner: claim('sub') };
const workspaces = CrudModule.forFeature({
  entity: Workspace,
  input: WorkspaceInput,
  name: 'workspaces',
  isolationFields: { all: member, create: owner, del: owner },
});

class TaskInput {
  @IsText({ max: 200 }) text!: string;
}
/** What every member of a workspace reads and changes. */
@Schema({ timestamps: true })
class Task extends TaskInput {
  @IsText({ max: 40 }) author!: string;
  @IsReference(() => Workspace) workspace!: string;
}
const tasks = CrudModule.forFeature({
  entity: Task,
  input: TaskInput,
  name: 'tasks',
  path: 'workspaces/:workspaceId/tasks',
  parent: { entity: Workspace, param: 'workspaceId', field: 'workspace' },
  // The workspace decides who reads them.
  isolationFields: { all: unlessCaller(() => true, { author: claim('sub') }) },
  references: { workspace: { to: Workspace, onDelete: 'cascade' } },
});

class DocumentInput {
  @IsText({ max: 200 }) name!: string;
}
@Schema({ timestamps: true })
class Document extends DocumentInput {
  @IsIdentifier() tenant!: string;
  @IsWholeNumber({ optional: true }) bytes?: number;
  @Prop({ type: Buffer, select: false }) content?: Buffer;
}
const documents = crudOptions({
  entity: Document,
  input: DocumentInput,
  name: 'documents',
  isolationFields,
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
  @CrudAction(documents, {
    method: 'PUT',
    path: ':id/content',
    consumes: 'application/octet-stream',
    isolatedAs: 'update',
  })
  upload(@CurrentScope() scope: TenantScope, @Param('id') id: string, @Body() content: Buffer) {
    return this.service.update(scope, id, { content, bytes: content.length });
  }

  @CrudAction(documents, {
    method: 'GET',
    path: ':id/content',
    isolatedAs: 'get',
    response: 'application/octet-stream',
  })
  async download(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return new StreamableFile(await this.service.content(scope, id));
  }
}

/** Eight resources of real products, those of the examples among them. */
export const EIGHT = [
  properties,
  messages,
  CrudModule.forFeature(documents, { controller: DocumentsController, service: DocumentsService }),
  workspaces,
  tasks,
  ...[BookingsModule, LedgerModule, PriceRulesModule, ProfileModule],
];
