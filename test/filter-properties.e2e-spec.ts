import { Prop, Schema } from '@nestjs/mongoose';
import { Decimal128, Double, Int32, Long, ObjectId } from 'bson';
import { Types } from 'mongoose';
import { CrudModule } from '../src/common/crud/index.js';
import { IsListOf, IsNested, IsNumber, IsText, IsWholeNumber } from '../src/common/fields/index.js';
import {
  type ModelCondition,
  type ModelField,
  type ModelQuery,
  type ModelRecord,
  type ModelValue,
  selected,
  written,
} from './support/query-model.js';
import { Random } from './support/random.js';
import { createResourceApp } from './support/resource-app.js';
import { createTestApp, type TestApp } from './support/test-app.js';

const SEED = Number(process.env.QUERY_SEED ?? 1);
/** Random queries of each resource. */
const QUERIES = Number(process.env.QUERIES ?? 150);
const RECORDS = 60;

class SampleInput {
  @IsText({ max: 1_000 })
  title!: string;
}

class Size {
  @IsNumber({ min: -10, max: Number.MAX_VALUE, optional: true })
  width?: number;
}

class Part {
  @IsText({ max: 10, optional: true })
  sku?: string;

  @IsWholeNumber({ min: 0, max: 10, optional: true })
  stock?: number;
}

@Schema({ timestamps: true })
class Sample extends SampleInput {
  @Prop({ type: String, lowercase: true, trim: true, set: (text: string) => `${text}!`, get: () => 'got' })
  code?: string;

  @Prop({ type: [String] })
  texts?: string[];

  @Prop({ type: [Number] })
  numbers?: number[];

  @Prop({ type: 'Int32' })
  whole?: number;

  @Prop({ type: 'Double' })
  real?: number;

  @Prop({ type: BigInt })
  wide?: bigint;

  @Prop({ type: Types.Decimal128 })
  price?: Types.Decimal128;

  @Prop({ type: Boolean })
  flag?: boolean;

  @Prop({ type: Date })
  at?: Date;

  @Prop({ type: Types.ObjectId })
  owner?: Types.ObjectId;

  @Prop({ type: String, enum: ['red', 'green', 'blue'] })
  colour?: string;

  @Prop({ type: Number, enum: [1, 2, 3] })
  level?: number;

  @IsNested(() => Size, { optional: true })
  size?: Size;

  @IsListOf(() => Part, { max: 10, optional: true })
  parts?: Part[];

  @Prop({ type: Number })
  limit?: number;
}

const TEXTS = [
  ...[
    '',
    ' ',
    'Tea',
    'tea',
    'TEA time',
    'a',
    'A',
    'z',
    'Z',
    'ab',
    'aB',
    'a,b',
    'a\\b',
    '\\',
    ',',
    '.*',
    '(a+)+$',
  ],
  ...['[', '^a', 'a$', 'a|b', '{2}', '%41', 'a b', 'a+b', 'a&b=c', 'null', 'true', '12', '$ne', '-', '#'],
  ...['ß', 'ẞ', 'SS', 'ſ', 's', 'S', 'k', 'K', 'K', 'i', 'I', 'İ', 'ı', 'é', 'e\u0301', 'É', 'σ', 'ς', 'Σ'],
  ...[
    'ǆ',
    'ǅ',
    'Ǆ',
    'ﬀ',
    'Ⅷ',
    'ⅷ',
    '😀',
    '😀 a',
    '𐐀',
    '𐐨',
    '\uffff',
    'a\nb',
    'b\na',
    '\n',
    'a\0b',
    '\0',
    '\0c',
    '日本',
  ],
];
/** Those that a title or a tag may be. */
const NAMES = TEXTS.filter((one) => /\S/.test(one));
const MOMENTS = [
  '0001-01-01T00:00:00Z',
  '1969-12-31T23:59:59.999Z',
  '2026-01-01T00:00:00Z',
  '2026-01-01T00:00:00.001Z',
].map((text) => Date.parse(text));
const IDS = ['000000000000000000000000', '665f1c2ab7e3a90d4c8b4567', 'ffffffffffffffffffffffff'];

const text = (path: string, pool: readonly string[] = TEXTS): ModelField => ({ path, kind: 'string', pool });
const number = (path: string, pool: readonly number[]): ModelField => ({ path, kind: 'number', pool });
const moment = (path: string): ModelField => ({
  path,
  kind: 'timestamp',
  pool: MOMENTS,
  // The same moment with an offset, where the year can be written so.
  write: (value) => new Date(Number(value) + 5.5 * 3_600_000).toISOString().replace('Z', '+05:30'),
});
const flag = (path: string): ModelField => ({ path, kind: 'boolean', pool: [true, false] });
const id = (path: string): ModelField => ({
  path,
  kind: 'identifier',
  pool: IDS,
  write: (value) => String(value).toUpperCase(),
});

interface Resource {
  name: string;
  path: string;
  collection: string;
  start: () => Promise<TestApp>;
  filters: ModelField[];
  orders: string[][];
  /** Fields that records have, and how the store holds their values. */
  fields: Record<string, { field: ModelField; list?: boolean; stored?: (value: ModelValue) => unknown }>;
}

const asDate = (value: ModelValue) => new Date(Number(value));
const asId = (value: ModelValue) => new ObjectId(String(value));
const kept = {
  createdAt: { field: moment('createdAt'), stored: asDate },
  updatedAt: { field: moment('updatedAt'), stored: asDate },
};

const WHOLE = [-2_147_483_648, -1, 0, 1, 2, 2_147_483_647];
const REAL = [-1.5, -0, 0.1, 1, 1e300, 5e-324];
const COLOURS = { path: 'colour', kind: 'enum', pool: ['red', 'green', 'blue'] } as const;
const LEVELS = { path: 'level', kind: 'enum', pool: [1, 2, 3] } as const;
const PRICES: ModelField = {
  ...number('price', [-1, 0, 0.1, 0.25, 12.5, 1_000]),
  write: (value) => `${Number(value).toFixed(2)}0`,
};
const SAMPLE_FILTERS = [
  ...[id('_id'), text('title'), text('code', ['AB', 'ab', ' ab ', 'ab!', 'got']), text('texts')],
  ...[number('numbers', REAL), number('whole', [...WHOLE, 0.5, 1e10]), number('real', REAL)],
  ...[number('wide', [-1, 0, 1, 2 ** 53 - 1]), PRICES, flag('flag'), moment('at'), id('owner')],
  ...[COLOURS, LEVELS, number('size.width', REAL), text('parts.sku'), number('parts.stock', WHOLE)],
];

const resources: Resource[] = [
  {
    name: 'todos',
    path: '/todos',
    collection: 'todos',
    start: () => createTestApp(),
    filters: [
      id('_id'),
      text('title'),
      flag('completed'),
      ...['dueAt', 'createdAt', 'updatedAt'].map(moment),
    ],
    orders: [['-createdAt'], ['-updatedAt'], ['dueAt'], ['title'], ['completed', 'dueAt']],
    fields: {
      title: { field: text('title', NAMES) },
      completed: { field: flag('completed') },
      dueAt: { field: moment('dueAt'), stored: asDate },
      ...kept,
    },
  },
  {
    name: 'posts',
    path: '/posts/api',
    collection: 'posts',
    start: () => createTestApp(),
    filters: [
      ...['_id', 'tenant'].map(id),
      ...['title', 'tags'].map((path) => text(path)),
      moment('createdAt'),
    ],
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
    start: () =>
      createResourceApp(
        CrudModule.forFeature({
          entity: Sample,
          input: SampleInput,
          name: 'samples',
          query: {
            filter: SAMPLE_FILTERS.map(({ path }) => path) as 'title'[],
            sort: [
              ...([
                'title',
                'whole',
                '-real',
                'price',
                'flag',
                'at',
                'colour',
                'level',
                'size.width',
              ] as const),
              ['flag', '-whole', 'title'],
              ['colour', 'level'],
            ],
          },
        }),
      ),
    filters: SAMPLE_FILTERS,
    orders: [
      ...['title', 'whole', '-real', 'price', 'flag', 'at', 'colour', 'level', 'size.width'].map((key) => [
        key,
      ]),
      ['flag', '-whole', 'title'],
      ['colour', 'level'],
    ],
    fields: {
      title: { field: text('title') },
      code: { field: text('code', ['AB', 'ab', ' ab ', 'ab!', 'got']) },
      texts: { field: text('texts'), list: true },
      numbers: { field: number('numbers', REAL), list: true },
      whole: { field: number('whole', WHOLE), stored: (value) => new Int32(Number(value)) },
      real: { field: number('real', REAL), stored: (value) => new Double(Number(value)) },
      wide: {
        field: number('wide', [-1, 0, 1, 2 ** 53 - 1]),
        stored: (value) => Long.fromNumber(Number(value)),
      },
      price: { field: PRICES, stored: (value) => Decimal128.fromString(String(value)) },
      flag: { field: flag('flag') },
      at: { field: moment('at'), stored: asDate },
      owner: { field: id('owner'), stored: asId },
      colour: { field: COLOURS },
      level: { field: LEVELS },
      ...kept,
    },
  },
];

const OPERATORS: Record<ModelField['kind'], readonly string[]> = {
  string: ['eq', 'ne', 'in', 'nin', 'exists', 'contains', 'startsWith'],
  number: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'exists'],
  timestamp: ['eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'exists'],
  boolean: ['eq', 'ne', 'exists'],
  identifier: ['eq', 'ne', 'in', 'nin', 'exists'],
  enum: ['eq', 'ne', 'in', 'nin', 'exists'],
};

describe.each(resources)(
  `random queries of $name, seed ${SEED}`,
  ({ path, collection, start, ...resource }) => {
    const random = new Random(SEED);
    let app: TestApp;
    let records: ModelRecord[];

    beforeAll(async () => {
      app = await start();
      const made = Array.from({ length: RECORDS }, () => madeRecord(random, resource.fields, collection));
      await app.database.collection(collection).insertMany(made.map(({ stored }) => stored));
      records = made.map(({ model }) => model);
    });
    afterAll(() => app.close());

    it('answer with the records, in the order, of the rules', async () => {
      for (let i = 0; i < QUERIES; i++) {
        const query = madeQuery(random, resource, records);
        const url = written(query, () => random.chance(0.5));
        const expected = selected([...records], query);
        const { window } = query;
        const shown = window ? expected.slice(window.offset, window.offset + window.limit) : expected;
        const { status, body } = await app.get(`${path}?${url}`);
        const results = (window ? body.results : body) as Record<string, unknown>[] | undefined;
        expect({ url, status, ids: results?.map(({ _id }) => _id) }).toEqual({
          url,
          status: 200,
          ids: shown.map(({ _id }) => _id),
        });
        if (window) expect({ url, count: body.count }).toEqual({ url, count: expected.length });
        for (const [at, result] of results?.entries() ?? []) {
          const names = Object.keys(shown[at] ?? {}).filter((name) => shown[at]?.[name] !== null);
          const asked = names.filter(
            (name) => !query.fields || name === '_id' || query.fields.includes(name),
          );
          expect({ url, names: Object.keys(result).sort() }).toEqual({ url, names: asked.sort() });
        }
        if (i % 5 > 0) continue;
        const filter = written({ conditions: query.conditions, sort: [] }, () => false).replace(
          /&?sort=$/,
          '',
        );
        const counted = await app.get(`${path}/count?${filter}`);
        expect({ url, body: counted.body }).toEqual({ url, body: { count: expected.length } });
      }
    }, 600_000);
  },
);

function madeRecord(random: Random, fields: Resource['fields'], collection: string) {
  const _id = Array.from({ length: 24 }, () => random.below(16).toString(16)).join('');
  const model: ModelRecord = { _id };
  const stored: Record<string, unknown> = { _id: asId(_id), __v: 0 };
  for (const [
    name,
    { field, list, stored: convert = (value: ModelValue) => value as unknown },
  ] of Object.entries(fields)) {
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
    const parts = random.pick([
      undefined,
      null,
      random.draw([{}, { sku: null }, { sku: 'a' }, { sku: 'Tea', stock: 0 }, { stock: 2 }], random.below(4)),
    ]);
    for (const target of [model, stored]) {
      if (size !== undefined) target.size = size;
      if (parts !== undefined) target.parts = parts;
    }
  }
  return { model, stored };
}

function madeQuery(
  random: Random,
  { filters, orders, fields }: Pick<Resource, 'filters' | 'orders' | 'fields'>,
  records: ModelRecord[],
): ModelQuery {
  const conditions = new Map<string, ModelCondition>();
  for (let i = random.below(4); i > 0; i--) {
    const condition = madeCondition(random, random.pick(filters), records);
    conditions.set(condition.field.path + condition.operator, condition);
  }
  const order = random.pick(orders);
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
