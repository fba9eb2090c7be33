import { RecordNotFoundError } from '../../errors/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { CrudAction } from '../options/crud-options.js';
import type { Access } from './access.js';
import type { CrudRegistry } from './crud.registry.js';
import { readableRecords } from './readable-records.js';

/** Ensures that a nested resource is reached only through a parent that the caller can read. */
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
    // A scope without isolation reaches the children of every parent.
    if (id === undefined) return;
    const children = await this.readable(scope, [{ [parent.field]: id }]);
    if (children.length > 0) return;
    throw new RecordNotFoundError(this.registry.of(parent.entity).definition.label);
  }

  /**
   * Those records all of whose ancestors the caller can read, since each level may be isolated by other
   * fields. One query per level.
   */
  async readable<T extends object>(scope: TenantScope, records: readonly T[]): Promise<readonly T[]> {
    const { parent } = this.definition;
    if (!parent) return records;
    const above = this.registry.of(parent.entity);
    const idOf = (record: T) =>
      String((record as Record<string, unknown>)[parent.field as string]).toLowerCase();
    const found = await readableRecords(above, scope, records.map(idOf), { idsOnly: true });
    const ids = new Set(found.map(({ _id }) => _id.toHexString()));
    return records.filter((record) => ids.has(idOf(record)));
  }
}
