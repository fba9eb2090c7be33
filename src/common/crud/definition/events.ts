import type { WriteAction } from '../../events/index.js';
import { ANY_OF, currentTenant, type IsolationSource } from '../../tenancy/index.js';
import type { CrudDefinition } from './crud-definition.js';
import { isShownByCaller } from './output.js';
import { entryTypeOf } from '../schema/schema-paths.js';

export interface EventsDefinition {
  /** Type of each kind of write, such as `posts.archived`. */
  readonly types: Readonly<Partial<Record<WriteAction, string>>>;
  /** The field with the tenant whose subscribers get them. */
  readonly tenant: string;
  /** What they get of the record: all that clients see, or `_id` alone. */
  readonly data: 'record' | 'id';
}

export function eventsOf(definition: CrudDefinition): EventsDefinition | undefined {
  const { archive, fail, isolation, name, options, references, schema } = definition;
  if (!options.events) return undefined;
  const tenant = Object.keys(isolation.create).find((field) => isolation.create[field] === currentTenant);
  if (tenant === undefined) {
    return fail(
      'events reach the tenant of the record, which no create sets. Add isolationFields.create, such as { tenant: currentTenant }.',
    );
  }
  if (entryTypeOf(schema.path(tenant)))
    fail(`events reach the tenant of the record, and "${tenant}" has several. Name a field with one.`);
  const cascading = references.find(({ onDelete }) => onDelete === 'cascade');
  if (archive && cascading)
    fail(
      `events tell of records that are archived, and references.${cascading.path} deletes them with another. Choose another onDelete.`,
    );
  const removal = archive ? { del: 'archived', restore: 'restored' } : { del: 'deleted' };
  const named = Object.entries({ create: 'created', update: 'updated', ...removal });
  return {
    types: Object.fromEntries(named.map(([action, verb]) => [action, `${name}.${verb}`])),
    tenant,
    data: options.events === true ? 'record' : 'id',
  };
}

/**
 * Why some callers of a tenant may be unable to read its records, as far as the resource itself says; undefined
 * if all can.
 *
 * @param tenant the field with the tenant; for a parent, undefined: any field that holds one tenant and binds every caller
 */
export function unreadableBy(definition: CrudDefinition, tenant?: string): string | undefined {
  const { archivedIsolation, disabled, isolation, parent, routes, schema, visible } = definition;
  if (disabled.has('get')) return 'the action get is disabled';
  const isOfTenant = (field: string, source: IsolationSource) =>
    tenant === undefined
      ? source === currentTenant && !entryTypeOf(schema.path(field))
      : field === tenant && (source.inner ?? source) === currentTenant;
  const narrowing = Object.entries({ ...isolation.get, ...archivedIsolation.get }).find(
    ([field, source]) => field !== parent?.field && !isOfTenant(field, source),
  );
  if (narrowing) return `"${narrowing[0] === ANY_OF ? 'anyOf' : narrowing[0]}" isolates reads`;
  if (Object.keys(visible).length > 0) return 'the option visible hides records';
  if (isShownByCaller(definition)) return 'the option fields or output shows it differently to callers';
  const declared = [routes.get, routes.list].flatMap((route) => [route?.guards, route?.decorators]);
  return declared.some((list) => list?.length) ? 'the routes of get have guards or decorators' : undefined;
}
