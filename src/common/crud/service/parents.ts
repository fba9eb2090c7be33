import { RecordNotFoundError } from '../../errors/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import type { CrudDefinition } from '../definition/crud-definition.js';
import type { CrudAction } from '../options/crud-options.js';
import type { Access } from './access.js';
import type { CrudRegistry } from './crud.registry.js';
import { readableRecords } from './readable-records.js';

/** Ensures that a nested resource is reached only through a parent that the caller can read. */
export class Parents {
  /** Identifiers of the parents that were found readable, by scope. */
  private readonly known = new WeakMap<TenantScope, string>();

  constructor(
    private readonly definition: CrudDefinition,
    private readonly access: Access,
    private readonly registry: CrudRegistry,
  ) {}

  /** @throws RecordNotFoundError if the caller cannot read the parent */
  async require(action: CrudAction, scope: TenantScope): Promise<void> {
    const { parent } = this.definition;
    const id = this.idOf(action, scope);
    if (!parent || id === undefined) return;
    // A scope made in code may live longer than its parent.
    if (scope.request && this.known.get(scope) === String(id)) return;
    const children = await this.readable(scope, [{ [parent.field]: id }]);
    if (children.length === 0)
      throw new RecordNotFoundError(this.registry.of(parent.entity).definition.label);
    this.known.set(scope, String(id));
  }

  /** @throws Error if nobody has checked the parent, so that a filter of its children would show them */
  assertKnown(action: CrudAction, scope: TenantScope): void {
    const id = this.idOf(action, scope);
    if (id === undefined || this.known.get(scope) === String(id)) return;
    throw new Error(
      `Nobody has checked the parent of this scope of ${this.definition.label}. Await this.requireParent('${action}', scope) before you call filterOf.`,
    );
  }

  /** Undefined without a parent, and for a scope without isolation, which reaches the children of every one. */
  private idOf(action: CrudAction, scope: TenantScope): unknown {
    const { parent } = this.definition;
    return parent && this.access.fields(action, scope)[parent.field as string];
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
    const reading = { idsOnly: true, asParents: true };
    const found = await readableRecords(above, scope, records.map(idOf), reading);
    const ids = new Set(found.map(({ _id }) => _id.toHexString()));
    return records.filter((record) => ids.has(idOf(record)));
  }
}
