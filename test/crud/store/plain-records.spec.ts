import { Prop, Schema } from '@nestjs/mongoose';
import fc from 'fast-check';
import mongoose, { type Model, type Schema as MongooseSchema, Types } from 'mongoose';
import { recordOfDocument } from '../../../src/common/crud/store/gathered-inserts.js';
import { PlainRecords } from '../../../src/common/crud/store/plain-records.js';
import {
  IsDecimal,
  IsFlag,
  IsNested,
  IsNumber,
  IsOneOf,
  IsReference,
  IsText,
  IsTextList,
  IsTimestamp,
  IsWholeNumber,
  schemaOf,
} from '../../../src/common/fields/index.js';

class Room {}
const ID = '665f1c2ab7e3a90d4c8b4567';

@Schema({ timestamps: true })
class Plain {
  @Prop({ type: Number, min: 0, max: 10, default: 3 }) rating?: number;
  @IsText({ min: 1, max: 200 }) title!: string;
  @IsText({ max: 9, optional: true }) note?: string;
  @IsFlag({ default: false }) done?: boolean;
  @IsWholeNumber({ optional: true }) count?: number;
  @IsNumber({ optional: true }) weight?: number;
  @IsTimestamp({ optional: true }) dueAt?: Date;
  @IsOneOf(['red', 'blue'], { default: 'red' }) colour?: string;
  @IsReference(() => Room, { optional: true }) room?: string;
  @Prop({ type: String, minlength: 2, maxlength: 5, match: /^[a-z]*$/ }) code?: string;
  @Prop({ type: String, enum: ['a', 'b'], default: 'a' }) kind?: string;
  @Prop({ type: String, select: false }) owner?: string;
  @Prop({ type: Types.ObjectId }) tenant?: Types.ObjectId;
  @Prop({ type: Number, immutable: true }) fixed?: number;
}

/** Values that fit some fields and surprise others. */
const VALUES: readonly unknown[] = [
  'a',
  'red',
  'abc',
  'ABC',
  '',
  '5',
  ID,
  0,
  -0,
  3,
  1.5,
  -7,
  NaN,
  Infinity,
  true,
  false,
  new Date(0),
  new Date(NaN),
  new Types.ObjectId(ID),
  Types.Decimal128.fromString('1.5'),
  null,
  undefined,
  [],
  ['a'],
  {},
  { toString: () => 'a' },
  { _id: ID },
];

let count = 0;
function modelOf(schema: MongooseSchema): Model<Record<string, unknown>> {
  return mongoose.model(`PlainRecord${count++}`, schema) as unknown as Model<Record<string, unknown>>;
}

/** What Mongoose would store; undefined if it refuses the values. */
async function storedByMongoose(
  model: Model<Record<string, unknown>>,
  values: object,
): Promise<object | undefined> {
  try {
    return await recordOfDocument(new model(values, undefined, { strict: 'throw' }))();
  } catch {
    return undefined;
  }
}

/** Without what differs from record to record; members in their order. */
function comparable(record: Record<string, unknown> | undefined, values: object): unknown[] | undefined {
  return (
    record &&
    Object.entries(record).map(([name, value]) => {
      const isNew = name === 'createdAt' || name === 'updatedAt' || (name === '_id' && !('_id' in values));
      return [name, isNew ? (value as object).constructor.name : value];
    })
  );
}

afterAll(() => {
  for (const name of mongoose.modelNames()) if (name.startsWith('PlainRecord')) mongoose.deleteModel(name);
});

describe('a record that is made without Mongoose', () => {
  const model = modelOf(schemaOf(Plain));
  const records = PlainRecords.of(model);
  const names = [...Object.keys(schemaOf(Plain).paths), 'unknown', 'toString'].filter(
    (name) => name !== '__v',
  );

  it('is what Mongoose would store, or is left to Mongoose', async () => {
    const fitting = {
      title: 'A',
      note: 'b',
      count: 1,
      weight: 0.5,
      code: 'ab',
      dueAt: new Date(5),
      room: ID,
    };
    const values = fc
      .tuple(
        fc.subarray(Object.entries(fitting)),
        fc.dictionary(fc.constantFrom(...names), fc.constantFrom(...VALUES), { maxKeys: 4 }),
      )
      .map(([some, others]): object => ({ title: 'A', ...Object.fromEntries(some), ...others }));
    let made = 0;
    await fc.assert(
      fc.asyncProperty(values, async (sent) => {
        const record = records?.make(sent)?.stamp();
        if (!record) return;
        made += 1;
        expect(comparable(record, sent)).toStrictEqual(
          comparable((await storedByMongoose(model, sent)) as Record<string, unknown>, sent),
        );
      }),
      { numRuns: 3_000 },
    );
    expect(made).toBeGreaterThan(500);
  });

  it('is made of all valid values', () => {
    const dueAt = new Date(5);
    const record = records
      ?.make({ title: 'A', rating: 10, dueAt, tenant: new Types.ObjectId(ID), room: ID })
      ?.stamp();
    expect(record).toMatchObject({
      rating: 10,
      dueAt,
      done: false,
      colour: 'red',
      __v: 0,
      createdAt: expect.any(Date),
    });
    expect(record?.dueAt).not.toBe(dueAt);
  });

  it.each([
    {},
    { title: '' },
    { title: 'A', rating: 11 },
    { title: 'A', code: 'A' },
    { title: 'A', note: null },
  ])('is not made of %j', (values) => {
    expect(records?.make(values)).toBeUndefined();
  });
});

describe('the records of a schema are left to Mongoose that has', () => {
  class Named {
    @IsText({ max: 9 }) name!: string;
  }
  const cases: [string, (schema: MongooseSchema) => unknown][] = [
    ['a setter', (schema) => schema.add({ code: { type: String, lowercase: true } })],
    ['a computed default', (schema) => schema.add({ code: { type: String, default: () => 'a' } })],
    ['a condition', (schema) => schema.add({ code: { type: String, required: () => false } })],
    ['a validator', (schema) => schema.path('name').validate(() => true)],
    ['an asynchronous validator', (schema) => schema.path('name').validate(async () => true)],
    ['middleware', (schema) => schema.pre('validate', () => undefined)],
    ['a list', (schema) => schema.add({ list: [String] })],
    ['a map', (schema) => schema.add({ map: { type: Map, of: String } })],
    ['any value', (schema) => schema.add({ any: {} })],
    ['an object', (schema) => schema.add({ inner: { name: String } })],
    ['a default that is cast', (schema) => schema.add({ size: { type: Number, default: '5' } })],
    ['a clock of its own', (schema) => schema.set('timestamps', { currentTime: () => 0 })],
    ['a timestamp that is no date', (schema) => schema.add({ updatedAt: Number }).set('timestamps', true)],
    ['a collation', (schema) => schema.set('collation', { locale: 'en' })],
    ['a write concern', (schema) => schema.set('writeConcern', { w: 3 })],
    ['a read preference', (schema) => schema.set('read', 'secondary')],
    ['an identifier that is no ObjectId', (schema) => schema.add({ _id: String })],
  ];

  it('something of its own, unlike this one', () => {
    expect(PlainRecords.of(modelOf(schemaOf(Named)))).toBeDefined();
  });

  it.each(cases)('%s', (_name, change) => {
    const schema = schemaOf(Named);
    change(schema);
    expect(PlainRecords.of(modelOf(schema))).toBeUndefined();
  });

  it.each([IsDecimal({ scale: 2 }), IsTextList({ maxEntries: 2, entry: { max: 5 } }), IsNested(() => Named)])(
    'a field of several values, or of an exact number',
    (decorate) => {
      class Other {}
      decorate(Other.prototype, 'value');
      expect(PlainRecords.of(modelOf(schemaOf(Other)))).toBeUndefined();
    },
  );
});
