import { Prop, Schema } from '@nestjs/mongoose';
import { Decimal128, Double, Int32, Long, ObjectId } from 'bson';
import { Types } from 'mongoose';
import { CrudModule, IsListOf, IsNested, IsNumber, IsText, IsWholeNumber } from '../../src/index.js';
import type {
  ModelCondition,
  ModelField,
  ModelQuery,
  ModelRecord,
  ModelValue,
  ModelWhere,
} from './query-model.js';
import { OPERATORS, reverseOf, takesList } from './query-words.js';
import type { Random } from './random.js';
import { createTestApp, serviceWith, type TestApp } from './test-app.js';

class SampleInput {
  @IsText({ max: 1_000 }) title!: string;
}

class Size {
  @IsNumber({ min: -10, max: Number.MAX_VALUE, optional: true }) width?: number;
}

class Part {
  @IsText({ max: 10, optional: true }) sku?: string;
  @IsWholeNumber({ min: 0, max: 10, optional: true }) stock?: number;
}

@Schema({ timestamps: true })
class Sample extends SampleInput {
  @Prop({ type: String, lowercase: true, trim: true, set: (text: string) => `${text}!`, get: () => 'got' })
  code?: string;

  @Prop({ type: [String] }) texts?: string[];
  @Prop({ type: [Number] }) numbers?: number[];
  @Prop({ type: 'Int32' }) whole?: number;
  @Prop({ type: 'Double' }) real?: number;
  @Prop({ type: BigInt }) wide?: bigint;
  @Prop({ type: Types.Decimal128 }) price?: Types.Decimal128;
  @Prop({ type: Boolean }) flag?: boolean;
  @Prop({ type: Date }) at?: Date;
  @Prop({ type: Types.ObjectId }) owner?: Types.ObjectId;
  @Prop({ type: String, enum: ['red', 'green', 'blue'] }) colour?: string;
  @Prop({ type: Number, enum: [1, 2, 3] }) level?: number;
  @IsNested(() => Size, { optional: true }) size?: Size;
  @IsListOf(() => Part, { max: 10, optional: true }) parts?: Part[];
  @Prop({ type: Number }) limit?: number;
}

const TEXTS = [
  ...['', ' ', 'Tea', 'tea', 'TEA time'],
  ...'a A z Z ab aB a,b a\\b \\ , .* (a+)+$'.split(' '),
  ...['[', '^a', 'a$', 'a|b', '{2}', '%41', 'a b', 'a+b', 'a&b=c', 'null', 'true', '12', '$ne', '-', '#'],
  ...['ß', 'ẞ', 'SS', 'ſ', 's', 'S', 'k', 'K', 'K', 'i', 'I', 'İ', 'ı', 'é', 'e\u0301', 'É', 'σ', 'ς', 'Σ'],
  ...['ǆ', 'ǅ', 'Ǆ', 'ﬀ', 'Ⅷ', 'ⅷ', '😀', '😀 a', '𐐀', '𐐨', '\uffff', '\uFFFD', '日本'],
  ...['a\nb', 'b\na', '\n', 'a\0b', '\0', '\0c'],
];
/** Those that a title or a tag may be. */
const NAMES = TEXTS.filter((one) => /\S/.test(one));
const DAYS = ['0001-01-01T00:00:00Z', '1969-12-31T23:59:59.999Z', '2026-01-01T00:00:00Z'];
const MOMENTS = [...DAYS, '2026-01-01T00:00:00.001Z'].map((text) => Date.parse(text));
const IDS = ['000000000000000000000000', '665f1c2ab7e3a90d4c8b4567', 'ffffffffffffffffffffffff'];

const text = (path: string, pool: readonly string[] = TEXTS): ModelField => ({ path, kind: 'string', pool });
const number = (path: string, pool: readonly number[]): ModelField => ({ path, kind: 'number', pool });
/** The same moment with an offset, where the year can be written so. */
const withOffset = (value: ModelValue) =>
  new Date(Number(value) + 5.5 * 3_600_000).toISOString().replace('Z', '+05:30');
const moment = (path: string): ModelField => ({ path, kind: 'timestamp', pool: MOMENTS, write: withOffset });
const flag = (path: string): ModelField => ({ path, kind: 'boolean', pool: [true, false] });
const inCapitals = (value: ModelValue) => String(value).toUpperCase();
const id = (path: string): ModelField => ({ path, kind: 'identifier', pool: IDS, write: inCapitals });

/** A resource with what can be asked of its list. */
export interface QueriedResource {
  name: string;
  path: string;
  collection: string;
  filters: ModelField[];
  orders: string[][];
  /** Fields that records have, and how the store holds their values. */
  fields: Record<string, { field: ModelField; list?: boolean; stored?: (value: ModelValue) => unknown }>;
}

const asDate = (value: ModelValue) => new Date(Number(value));
export const asId = (value: ModelValue) => new ObjectId(String(value));
const kept = {
  createdAt: { field: moment('createdAt'), stored: asDate },
  updatedAt: { field: moment('updatedAt'), stored: asDate },
};

const WHOLE = [-2_147_483_648, -1, 0, 1, 2, 2_147_483_647];
const REAL = [-1.5, -0, 0.1, 1, 1e300, 5e-324];
const COLOURS = { path: 'colour', kind: 'enum', pool: ['red', 'green', 'blue'] } as const;
const LEVELS = { path: 'level', kind: 'enum', pool: [1, 2, 3] } as const;
const withZero = (value: ModelValue) => `${Number(value).toFixed(2)}0`;
const PRICES = { ...number('price', [-1, 0, 0.1, 0.25, 12.5, 1_000]), write: withZero, isText: true };
const WIDE: ModelField = { ...number('wide', [-1, 0, 1, 2 ** 53 - 1]), isText: true };
const SAMPLE_FILTERS = [
  ...[id('_id'), text('title'), text('code', ['AB', 'ab', ' ab ', 'ab!', 'got']), text('texts')],
  ...[number('numbers', REAL), number('whole', [...WHOLE, 0.5, 1e10]), number('real', REAL)],
  ...[WIDE, PRICES, flag('flag'), moment('at'), id('owner')],
  ...[COLOURS, LEVELS, number('size.width', REAL), text('parts.sku'), number('parts.stock', WHOLE)],
];

const SAMPLE_ORDERS = [
  ...['title', 'whole', '-real', 'wide', 'price', 'flag', 'at', 'owner', 'colour', 'level'],
  'size.width',
  ['flag', '-whole', 'title'],
  ['colour', 'level'],
  ['-colour', 'size.width', '-at'],
];

/** Half of the decimals have a zero at their end, which does not change their value. */
let decimals = 0;
const asDecimal = (value: ModelValue) => {
  const zero = decimals++ % 2 > 0 && String(value).includes('.') ? '0' : '';
  return Decimal128.fromString(`${String(value)}${zero}`);
};

/** A resource of the product, and one with a field of every type. */
export const QUERIED_RESOURCES: readonly QueriedResource[] = [
  {
    name: 'posts',
    path: '/posts/api',
    collection: 'posts',
    filters: [id('_id'), id('tenant'), text('title'), text('tags'), moment('createdAt')],
    orders: [['-createdAt'], ['-updatedAt'], ['title']],
    fields: {
      title: { field: text('title', NAMES) },
      tags: { field: text('tags', NAMES), list: true },
      tenant: { field: id('tenant'), stored: asId },
      ...kept,
    },
  },
  {
    name: 'a resource with fields of every type',
    path: '/samples',
    collection: 'samples',
    filters: SAMPLE_FILTERS,
    orders: SAMPLE_ORDERS.map((order) => [order].flat()),
    fields: {
      title: { field: text('title') },
      code: { field: text('code', ['AB', 'ab', ' ab ', 'ab!', 'got']) },
      texts: { field: text('texts'), list: true },
      numbers: { field: number('numbers', REAL), list: true },
      whole: { field: number('whole', WHOLE), stored: (value) => new Int32(Number(value)) },
      real: { field: number('real', REAL), stored: (value) => new Double(Number(value)) },
      wide: { field: WIDE, stored: (value) => Long.fromNumber(Number(value)) },
      price: { field: PRICES, stored: asDecimal },
      flag: { field: flag('flag') },
      at: { field: moment('at'), stored: asDate },
      owner: { field: id('owner'), stored: asId },
      colour: { field: COLOURS },
      level: { field: LEVELS },
      ...kept,
    },
  },
];

/** Starts the service with both. */
export function createQueriedApp(): Promise<TestApp> {
  const query = { filter: SAMPLE_FILTERS.map(({ path }) => path) as 'title'[], sort: SAMPLE_ORDERS as [] };
  const samples = CrudModule.forFeature({ entity: Sample, input: SampleInput, name: 'samples', query });
  return createTestApp({ root: serviceWith({ imports: [samples] }) });
}

const asIs = (value: ModelValue): unknown => value;

/** A record as the model knows it, and as it is stored. */
export function madeRecord(random: Random, fields: QueriedResource['fields'], collection: string) {
  const _id = random.hex(24);
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
  return {
    conditions: [...conditions.values()],
    sort: random.chance(0.5) ? order : order.map(reverseOf),
    ...(random.chance(0.3) && { fields: random.draw([...Object.keys(fields), '_id'], 1 + random.below(3)) }),
    ...(random.chance(0.5) && { window: { offset: random.below(20), limit: 1 + random.below(30) } }),
  };
}

function madeCondition(random: Random, field: ModelField, records: ModelRecord[]): ModelCondition {
  const pool = field.path === '_id' ? [...IDS, ...records.map(({ _id }) => _id)] : field.pool;
  const operator: string = random.pick(OPERATORS[field.kind]);
  if (operator === 'exists') return { field, operator, values: [random.chance(0.5)] };
  return { field, operator, values: random.draw(pool, takesList(operator) ? 1 + random.below(6) : 1) };
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
