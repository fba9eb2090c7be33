import { Param } from '@nestjs/common';
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import {
  AuditEntry,
  AuditEntryInput,
  CrudAction,
  CrudController,
  CrudModule,
  crudOptions,
  UpdatedResult,
} from '../../src/common/crud/index.js';
import { IsReference, IsText, schemaOf } from '../../src/common/fields/index.js';
import { CurrentScope, currentTenant, type TenantScope } from '../../src/common/tenancy/index.js';

export class LetterInput {
  @IsText({ max: 100 }) text!: string;
}

@Schema({ timestamps: true })
export class Letter extends LetterInput {
  @Prop({ type: String, select: false }) secret?: string;
  @Prop({ type: Types.ObjectId }) tenant?: Types.ObjectId;
}

class StampInput {
  @IsReference(() => Letter) letter!: string;
}

@Schema({ timestamps: true })
class Stamp extends StampInput {
  @Prop({ type: Types.ObjectId }) tenant?: Types.ObjectId;
}

class NoteInput {
  @IsText({ max: 100 }) text!: string;
}

@Schema({ timestamps: true })
class Note extends NoteInput {
  @Prop({ type: Date }) deletedAt?: Date;
  @Prop({ type: Types.ObjectId }) tenant?: Types.ObjectId;
}

const OF_TENANT = { all: { tenant: currentTenant } };

const letters = crudOptions({
  entity: Letter,
  input: LetterInput,
  name: 'letters',
  schema: schemaOf(Letter).index({ tenant: 1, text: 1 }, { unique: true }),
  isolationFields: OF_TENANT,
  hooks: { beforeCreate: ({ record }) => void (record.secret = 'of a hook') },
  bulk: true,
  import: true,
  audit: { keptDays: 30 },
});

class LettersController extends CrudController(letters) {
  @CrudAction(letters, {
    method: 'POST',
    path: ':id/burn',
    isolatedAs: 'update',
    summary: 'Burn a letter',
    status: 200,
    response: UpdatedResult,
  })
  async burn(@CurrentScope() scope: TenantScope, @Param('id') id: string): Promise<UpdatedResult> {
    await this.service.update(scope, id, { text: `ashes of ${id}` });
    return { updated: true };
  }
}

/** Audited letters with a hidden field, stamps that a letter takes with it, notes with an archive, and a resource that shows the audit records. */
export const AUDITED = [
  CrudModule.forFeature(letters, { controller: LettersController }),
  CrudModule.forFeature({
    entity: Stamp,
    input: StampInput,
    name: 'stamps',
    isolationFields: OF_TENANT,
    references: { letter: { to: Letter, check: false, onDelete: 'cascade' } },
    audit: true,
  }),
  CrudModule.forFeature({
    entity: Note,
    input: NoteInput,
    name: 'notes',
    isolationFields: OF_TENANT,
    archive: { field: 'deletedAt' },
    audit: true,
  }),
  CrudModule.forFeature({
    entity: AuditEntry,
    input: AuditEntryInput,
    name: 'audits',
    disable: ['create', 'update', 'del'],
    isolationFields: OF_TENANT,
    query: { filter: ['resource', 'record', 'outcome'] },
  }),
];
