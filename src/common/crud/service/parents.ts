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
    const { store, access, definition } = this.registry.of(parent.entity);
    if (await store.exists(access.filter('get', scope, id as string))) return;
    throw new RecordNotFoundError(definition.label);
  }
}
