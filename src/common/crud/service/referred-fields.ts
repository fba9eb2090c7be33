import type { Types } from 'mongoose';
import { QueryTooBroadError } from '../../errors/index.js';
import type { TenantScope } from '../../tenancy/index.js';
import type { Referred } from '../definition/query-definition.js';
import { predicatesOf } from '../query/conditions.js';
import type { Condition, Where } from '../query/list-query.js';
import type { Stored } from '../options/records.js';
import type { Resources } from './crud-resource.js';
import { isRejection, permitted } from './readable-records.js';

/** Maximum number of referred records that a condition may match. */
const MAX_REFERRED = 1_000;

/**
 * The conditions with those on fields of referred records replaced by conditions on the references themselves: they
 * refer to a record that the caller may read and that matches.
 *
 * @throws QueryTooBroadError if too many referred records match one
 */
export async function resolveReferred(
  conditions: readonly Where[],
  scope: TenantScope,
  registry: Resources,
): Promise<readonly Where[]> {
  const resolved: Where[] = [];
  // One after another: a query has many conditions, and other requests wait.
  for (const where of conditions) resolved.push(await resolve(where, scope, registry));
  return resolved;
}

async function resolve(where: Where, scope: TenantScope, registry: Resources): Promise<Where> {
  if ('and' in where) return { and: await resolveReferred(where.and, scope, registry) };
  if ('or' in where) return { or: await resolveReferred(where.or, scope, registry) };
  if ('not' in where) return { not: await resolve(where.not, scope, registry) };
  const { field } = where;
  if (!field.referred) return where;
  const [positive, isComplement] = positiveOf(where);
  const values = await matching(field.referred, positive, scope, registry);
  const path = field.referred.reference.path;
  const condition = { field: { ...field, path }, operator: 'in', values } as const;
  return isComplement ? { not: condition } : condition;
}

/** A condition without negation, and whether the asked one is its complement. */
function positiveOf(condition: Condition): [positive: Condition, isComplement: boolean] {
  const { operator, values } = condition;
  if (operator === 'ne') return [{ ...condition, operator: 'eq' }, true];
  if (operator === 'nin') return [{ ...condition, operator: 'in' }, true];
  if (operator === 'exists' && values[0] === false) return [{ ...condition, values: [true] }, true];
  return [condition, false];
}

/** The identifiers of the records that match, among those that the caller may read. */
async function matching(
  { field, reference }: Referred,
  condition: Condition,
  scope: TenantScope,
  registry: Resources,
): Promise<readonly Types.ObjectId[]> {
  const target = registry.of(reference.to);
  try {
    const conditions = [{ ...condition, field }];
    const filter = { ...target.access.reading(scope), $and: predicatesOf({ conditions }) };
    const found: Stored<object>[] = [];
    const read = { fields: target.parentFields, limit: MAX_REFERRED + 1 };
    for await (const record of target.store.find(filter, read)) found.push(record);
    if (found.length > MAX_REFERRED)
      throw new QueryTooBroadError(`${reference.path}.${field.path}`, MAX_REFERRED);
    return (await permitted(target, scope, found)).map(({ _id }) => _id);
  } catch (error) {
    if (isRejection(error) && !(error instanceof QueryTooBroadError)) return [];
    throw error;
  }
}
