import { RecordNotFoundError } from '../../errors/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { CrudAction } from '../options/crud-options.js';
import type { Access } from './access.js';
import type { CrudRegistry } from './crud.registry.js';

/** Sees to it that a resource below another one is reached only through a parent that is there. */
export class Parents {
  constructor(
    private readonly definition: CrudDefinition,
    private readonly access: Access,
    private readonly registry: CrudRegistry,
  ) {}

  /** @throws RecordNotFoundError if the caller cannot read the parent */
  async require(action: CrudAction, scope: TenantScope): Promise<void> {
    const { parent } = this.definition;
    if (!parent) return;
    const id = this.access.fields(action, scope)[parent.field as string];
    // A scope that isolates nothing reaches the children of every parent.
    if (id === undefined) return;
    if (await this.areReadable(scope, { [parent.field]: id })) return;
    throw new RecordNotFoundError(this.registry.of(parent.entity).definition.label);
  }

  /** Whether the caller can read all that a record is below of, up to the top: each level may isolate by other fields. */
  async areReadable(scope: TenantScope, record: object): Promise<boolean> {
    const { parent } = this.definition;
    if (!parent) return true;
    const { access, definition, parents, store } = this.registry.of(parent.entity);
    const _id = (record as Record<string, unknown>)[parent.field as string];
    if (_id === undefined || _id === null) return false;
    const filter = { ...access.reading(scope), _id };
    if (!definition.parent) return store.exists(filter);
    const above = await store.findOne(filter);
    return above !== undefined && parents.areReadable(scope, above);
  }
}
