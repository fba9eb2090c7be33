import { Schema } from '@nestjs/mongoose';
import type { ModelDefinition } from '@nestjs/mongoose';
import { Schema as MongooseSchema } from 'mongoose';
import { reserveCollection } from '../../database/index.js';
import { IsIdentifier, IsListOf, IsOneOf, IsText } from '../../fields/index.js';

/** Outcome of a write. It stays `unknown` if the process or the database fails before the outcome is stored. */
export const AUDIT_OUTCOMES = ['unknown', 'done', 'unmatched', 'refused'] as const;

export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number];

const ACTIONS = ['create', 'update', 'del', 'restore'] as const;

/** Only the code writes audit records; a resource of them still needs an input class, which no route uses. */
export class AuditEntryInput {
  @IsText({ min: 1, max: 200, description: 'Name of the resource', example: 'posts' })
  resource!: string;

  @IsOneOf(ACTIONS, { description: 'What the write was for' })
  action!: (typeof ACTIONS)[number];
}

/**
 * An audit record. Use it as the entity of a resource that shows them:
 *
 * ```ts
 * CrudModule.forFeature({
 *   entity: AuditEntry,
 *   input: AuditEntryInput,
 *   name: 'audits',
 *   disable: ['create', 'update', 'del'],
 *   isolationFields: { all: { tenant: currentTenant } },
 * })
 * ```
 */
@Schema({ timestamps: { createdAt: true, updatedAt: false } })
export class AuditEntry extends AuditEntryInput {
  @IsIdentifier({ description: 'Identifier of the record' })
  record!: string;

  @IsListOf(IsText({ max: 1_000 }), {
    max: 1_000,
    description: 'Names of the visible fields that the write set, changed or removed',
  })
  changed!: string[];

  @IsIdentifier({
    optional: true,
    description:
      "The caller's tenant; absent if no token was asked for, or if the caller cannot read the record, which went with another",
  })
  tenant?: string;

  @IsText({ max: 1_000, optional: true, description: 'Subject of the token (`sub`)', example: 'ann' })
  subject?: string;

  @IsText({ max: 100, optional: true, description: 'Where the request came from', example: '203.0.113.7' })
  address?: string;

  @IsText({ max: 64, optional: true, description: 'Identifier of the request; absent if code wrote' })
  requestId?: string;

  @IsOneOf(AUDIT_OUTCOMES, {
    description:
      'What became of it: `done`; `unmatched`, since no such record was there; `refused`, with its `code`; or `unknown`',
  })
  outcome!: AuditOutcome;

  @IsText({
    max: 100,
    optional: true,
    description: 'Code of the problem that refused it',
    example: 'DUPLICATE_VALUE',
  })
  code?: string;
}

const STORED = new MongooseSchema(
  { resource: String, record: MongooseSchema.Types.ObjectId, createdAt: Date, expiresAt: Date },
  { versionKey: false, strict: false },
)
  .index({ expiresAt: 1 }, { expireAfterSeconds: 0 })
  .index({ resource: 1, record: 1, createdAt: -1 });

/** A model for writing. It has its own name because a resource may have a model of the same collection. */
export const AUDIT_MODEL: ModelDefinition = {
  name: 'StoredAudit',
  collection: 'audits',
  schema: reserveCollection(STORED, AuditEntry),
};
