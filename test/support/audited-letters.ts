import { Param } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { AuditEntry, AuditEntryInput } from '../../src/common/crud/index.js';
import { CrudAction, CrudController, CrudModule } from '../../src/common/crud/index.js';
import { IsReference, schemaOf } from '../../src/common/fields/index.js';
import { CurrentScope, type TenantScope } from '../../src/common/tenancy/index.js';
import { feature, OF_TENANT, resource } from './resource.js';

/** Audited letters with a hidden field. */
export const letters = resource({
  name: 'letters',
  ...OF_TENANT,
  kept: { ...OF_TENANT.kept, secret: Prop({ type: String, select: false }) },
  hooks: { beforeCreate: ({ record }) => void (record.secret = 'of a hook') },
  bulk: true,
  import: true,
  audit: { keptDays: 30 },
});
letters.schema = schemaOf(letters.entity).index({ tenant: 1, text: 1 }, { unique: true });

class LettersController extends CrudController(letters) {
  @CrudAction(letters, { method: 'POST', path: ':id/burn', isolatedAs: 'update', status: 200 })
  burn(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.update(scope, id, { text: `ashes of ${id}` });
  }
}

/** Audited letters with a hidden field, stamps that a letter takes with it, notes with an archive, and a resource that shows the audit records. */
export const AUDITED = [
  CrudModule.forFeature(letters, { controller: LettersController }),
  feature({
    name: 'stamps',
    fields: { letter: IsReference(() => letters.entity) },
    ...OF_TENANT,
    references: { letter: { to: letters.entity, check: false, onDelete: 'cascade' } },
    audit: true,
  }),
  feature({
    name: 'notes',
    ...OF_TENANT,
    kept: { ...OF_TENANT.kept, deletedAt: Prop({ type: Date }) },
    archive: { field: 'deletedAt' },
    audit: true,
  }),
  CrudModule.forFeature({
    entity: AuditEntry,
    input: AuditEntryInput,
    name: 'audits',
    disable: ['create', 'update', 'del'],
    isolationFields: OF_TENANT.isolationFields,
    query: { filter: ['resource', 'record', 'outcome'] },
  }),
];
