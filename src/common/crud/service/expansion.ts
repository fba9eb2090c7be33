import { isObjectId } from '../../ids/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import type { ReferenceDefinition } from '../definition/crud-definition.js';
import type { CrudRegistry } from './crud.registry.js';
import { isRefusal, readableRecords } from './readable-records.js';

/** The place of an identifier in a shown record. */
interface Place {
  readonly holder: Record<string | number, unknown>;
  readonly key: string | number;
  readonly id: string;
}

/**
 * Replaces the identifiers of references with the records they refer to. It starts from what clients see, so
 * a hidden identifier is never followed, and goes only one level deep, so references may be circular.
 */
export class Expansion {
  constructor(
    private readonly registry: CrudRegistry,
    private readonly scope: TenantScope,
    private readonly references: readonly ReferenceDefinition[],
  ) {}

  /** Changes shown records in place, with one query per reference, whatever the number of records. */
  async expand(shown: readonly object[]): Promise<void> {
    await Promise.all(
      this.references.map(async (reference) => {
        const places = placesIn({ shown }, 'shown', reference.path.split('.'));
        const targets = await this.targetsOf(
          reference,
          places.map(({ id }) => id),
        );
        for (const { holder, key, id } of places) holder[key] = targets.get(id) ?? holder[key];
      }),
    );
  }

  /** The records that the caller may read, as that caller sees them, by identifier. */
  private async targetsOf(
    { to }: ReferenceDefinition,
    ids: readonly string[],
  ): Promise<ReadonlyMap<string, object>> {
    const target = this.registry.of(to);
    if (target.definition.disabled.has('get') || ids.length === 0) return new Map();
    try {
      const records = await readableRecords(target, this.scope, ids);
      const { caller } = this.scope;
      return new Map(
        records.map((record) => [record._id.toHexString(), target.definition.present(record, caller)]),
      );
    } catch (error) {
      if (isRefusal(error)) return new Map();
      throw error;
    }
  }
}

/** Every identifier at a path below a member, walking into lists on the way. */
function placesIn(holder: object, key: string | number, path: readonly string[]): Place[] {
  const members = holder as Place['holder'];
  const value = members[key];
  if (Array.isArray(value)) return value.flatMap((_, i) => placesIn(value, i, path));
  const [name, ...rest] = path;
  if (name === undefined) return isObjectId(value) ? [{ holder: members, key, id: value.toLowerCase() }] : [];
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? placesIn(value, name, rest)
    : [];
}
