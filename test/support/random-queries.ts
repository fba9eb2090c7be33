import type { ModelCondition, ModelField, ModelQuery } from './query-model.js';
import type { ModelRecord, ModelValue, ModelWhere } from './query-model.js';
import { asId, IDS, type QueriedResource, REAL } from './queried-resources.js';
import type { Random } from './random.js';

const ALL = ['eq', 'ne', 'in', 'nin', 'exists'];
const ORDERED = ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'exists'];
const OPERATORS: Record<ModelField['kind'], readonly string[]> = {
  string: [...ALL, 'contains', 'startsWith'],
  number: ORDERED,
  timestamp: ORDERED,
  boolean: ['eq', 'ne', 'exists'],
  identifier: ALL,
  enum: ALL,
};

const asIs = (value: ModelValue): unknown => value;

/** A record as the model knows it, and as it is stored. */
export function madeRecord(random: Random, fields: QueriedResource['fields'], collection: string) {
  const _id = Array.from({ length: 24 }, () => random.below(16).toString(16)).join('');
  const model: ModelRecord = { _id };
  const stored: Record<string, unknown> = { _id: asId(_id), __v: 0 };
  for (const [name, { field, list, stored: convert = asIs }] of Object.entries(fields)) {
    const isKept = ['title', 'createdAt', 'updatedAt', 'tenant'].includes(name);
    if (!isKept && random.chance(0.2)) continue;
    if (!isKept && random.chance(0.1)) {
      [model[name], stored[name]] = [null, null];
      continue;
    }
    const values = random.draw(field.pool, list ? random.below(4) : 1);
    model[name] = list ? values : values[0];
    stored[name] = list ? values.map(convert) : convert(values[0] ?? '');
  }
  if (collection === 'samples') {
    const size = random.pick([undefined, null, {}, { width: random.pick(REAL) }]);
    const parts = [{}, { sku: null }, { sku: 'a' }, { sku: 'Tea', stock: 0 }, { stock: 2 }];
    const some = random.pick([undefined, null, random.draw(parts, random.below(4))]);
    for (const target of [model, stored]) {
      if (size !== undefined) target.size = size;
      if (some !== undefined) target.parts = some;
    }
  }
  return { model, stored };
}

/** A query that the resource allows. */
export function madeQuery(
  random: Random,
  { filters, orders, fields }: Pick<QueriedResource, 'filters' | 'orders' | 'fields'>,
  records: ModelRecord[],
): ModelQuery {
  const conditions = new Map<string, ModelCondition>();
  const add = (condition: ModelCondition) =>
    conditions.set(condition.field.path + condition.operator, condition);
  for (let i = random.below(4); i > 0; i--) add(madeCondition(random, random.pick(filters), records));
  const order = random.pick(orders);
  const first = filters.find(({ path }) => path === order[0]?.replace('-', ''));
  // A filter that bounds the order, too.
  if (first && random.chance(0.3)) add(madeCondition(random, first, records));
  const reverse = order.map((key) => (key.startsWith('-') ? key.slice(1) : `-${key}`));
  return {
    conditions: [...conditions.values()],
    sort: random.chance(0.5) ? order : reverse,
    ...(random.chance(0.3) && { fields: random.draw([...Object.keys(fields), '_id'], 1 + random.below(3)) }),
    ...(random.chance(0.5) && { window: { offset: random.below(20), limit: 1 + random.below(30) } }),
  };
}

function madeCondition(random: Random, field: ModelField, records: ModelRecord[]): ModelCondition {
  const pool = field.path === '_id' ? [...IDS, ...records.map(({ _id }) => _id)] : field.pool;
  const operator = random.pick(OPERATORS[field.kind]);
  if (operator === 'exists') return { field, operator, values: [random.chance(0.5)] };
  const isList = operator === 'in' || operator === 'nin';
  return { field, operator, values: random.draw(pool, isList ? 1 + random.below(6) : 1) };
}

/** The conditions of a query in a body, with so many levels at most. */
export function madeWhere(
  random: Random,
  filters: ModelField[],
  records: ModelRecord[],
  levels = 4,
): ModelWhere {
  const inner = () => madeWhere(random, filters, records, levels - 1);
  const kind = levels === 0 ? 0 : random.below(6);
  if (kind === 1) return { not: inner() };
  if (kind === 2) return { and: random.list(1, 3, inner) };
  if (kind === 3) return { or: random.list(1, 4, inner) };
  const condition = madeCondition(random, random.pick(filters), records);
  const takesNull = ['eq', 'ne', 'in', 'nin'].includes(condition.operator);
  if (takesNull && random.chance(0.2)) condition.values[0] = null;
  return condition;
}
