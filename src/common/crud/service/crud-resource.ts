import type { InstallationKey } from '../../database/index.js';
import type { AuditTrail } from '../audit/audit-trail.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { CrudStore } from '../store/crud.store.js';
import { Access } from './access.js';
import { Creates } from './creates.js';
import type { CrudRegistry } from './crud.registry.js';
import type { HookRunner } from './hook-runner.js';
import { Parents } from './parents.js';
import { Reads } from './reads.js';
import type { RecordGuards } from './readable-records.js';
import type { References } from './references.js';
import { Writes } from './writes.js';

/** A resource of a running application, which its service works with. */
export class CrudResource<
  Entity extends object = object,
  Create extends object = object,
  Update extends object = object,
> {
  /** Makes the filters. */
  readonly access: Access;
  /** Carries out lists, pages and counts. */
  readonly reads: Reads<Entity, Create, Update>;
  /** Carries out creates with their hooks. */
  readonly creates: Creates<Entity, Create, Update>;
  /** Carries out updates and removals with their hooks. */
  readonly writes: Writes<Entity, Create, Update>;
  readonly parents: Parents;
  readonly guards: RecordGuards;
  /** Maximum size of a body, and of what is merged from one. Unit: bytes. */
  readonly bodyLimit: number;
  /** Records the writes; undefined if the resource is not audited. */
  readonly audit?: AuditTrail;

  constructor(
    readonly definition: CrudDefinition,
    readonly store: CrudStore<Entity>,
    readonly references: References,
    readonly hooks: HookRunner,
    registry: CrudRegistry,
    key: InstallationKey,
    { guards, bodyLimit, audit }: Pick<CrudResource, 'guards' | 'bodyLimit' | 'audit'>,
  ) {
    this.bodyLimit = bodyLimit;
    this.guards = guards;
    this.audit = audit;
    this.access = new Access(definition);
    this.parents = new Parents(definition, this.access, registry);
    this.reads = new Reads(this, key);
    this.creates = new Creates(this);
    this.writes = new Writes(this);
  }
}
