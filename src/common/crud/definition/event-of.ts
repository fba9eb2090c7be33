import { Types } from 'mongoose';
import type { EntityEvent, WriteAction } from '../../events/index.js';
import type { TenantContext } from '../../tenancy/index.js';
import { EVENT_PREFIX, type OutboxEntry } from '../store/outbox-entry.js';
import type { CrudDefinition } from './crud-definition.js';

/** The action, fields and time of a write. */
interface Written {
  readonly action: WriteAction;
  /** Names of the fields that the write sets, changes or removes. */
  readonly names: readonly string[];
  /**
   * Identifier of the record that a create stores; the event's identifier derives from it.
   *
   * @default a new one for each write
   */
  readonly id?: unknown;
  /** @default now */
  readonly at?: Date;
}

/** The event of a write, without its record. */
export function entryOf(
  { presenter }: CrudDefinition,
  { tenant }: TenantContext,
  { action, names, id = new Types.ObjectId(), at = new Date() }: Written,
): OutboxEntry {
  const changed = [...new Set(names)].filter((field) => presenter.fields.includes(field));
  return {
    _id: `${EVENT_PREFIX}${String(id)}`,
    action,
    at,
    changed,
    ...(tenant !== undefined && { tenant }),
  };
}

/** The event of a write. */
export function eventOf(
  { name, outbox, present }: CrudDefinition,
  caller: TenantContext,
  record: object,
  { _id, action, at, changed, tenant }: OutboxEntry,
): EntityEvent {
  return {
    ...(outbox && { id: _id }),
    resource: name,
    action,
    record: present(record, caller),
    changed,
    tenant,
    time: at.toISOString(),
  };
}
