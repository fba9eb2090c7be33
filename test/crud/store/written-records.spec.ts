import fc from 'fast-check';
import mongoose, { Schema, Types } from 'mongoose';
import { Presenter } from '../../../src/common/crud/definition/presenter.js';
import { project } from '../../../src/common/crud/query/read-query.js';

const { Binary, Long, UUID } = mongoose.mongo;

type Type = Record<string, unknown> | Schema | readonly unknown[] | typeof String;

/** Names in an order that JSON changes, with characters that it escapes. */
const NAMES = ['title', '2', 'a"b', '1', 'zeile\n', 'ü', 'createdAt'];
const name = fc.constantFrom(...NAMES);

/** What the driver may read, whatever a schema says of it. */
const leaf = fc.oneof(
  { weight: 6, arbitrary: fc.string({ unit: 'binary', maxLength: 60 }) },
  { weight: 2, arbitrary: fc.constantFrom('\ud800', 'a\udc00b', '"', '\\', '\u2028', '\u007f', '😀') },
  fc.double(),
  fc.constantFrom(-0, 1e21, 1e-7, 2 ** 53, 5),
  fc.boolean(),
  fc.constantFrom(null, undefined),
  fc.date({ noInvalidDate: false, min: new Date(-8.64e15), max: new Date(8.64e15) }),
  fc.bigInt(),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => Long.fromBigInt(value)),
  fc.constantFrom('1.50', '-0', '1E+400', 'NaN').map((text) => Types.Decimal128.fromString(text)),
  fc.uint8Array({ minLength: 12, maxLength: 12 }).map((bytes) => new Types.ObjectId(bytes)),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => new Binary(bytes)),
  fc.uint8Array({ maxLength: 20 }),
  fc.constant(new UUID('0f8fad5b-d9cb-469f-a165-70867728950e')),
);

const value = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    leaf,
    tie('object'),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 4 }).map((entries) => new Map(entries)),
  ),
  object: fc.dictionary(name, tie('value'), { maxKeys: 5, noNullPrototype: true }),
}));

const kind = fc.constantFrom(
  ...['String', 'Number', 'Boolean', 'Date', 'ObjectId', 'Decimal128', 'BigInt', 'Buffer', 'UUID', 'Mixed'],
);

/** Types of Mongoose's, nested in each other. */
const type = fc.letrec<{ type: Type; object: Record<string, unknown> }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 3 },
    kind.chain((type) => fc.record({ type: fc.constant(type), select: fc.constantFrom(true, true, false) })),
    tie('object'),
    tie('object').map((definition) => new Schema(definition as never, { _id: false })),
    tie('type').map((entry) => [entry]),
    kind.map((entry) => ({ type: Map, of: entry })),
  ) as fc.Arbitrary<Type>,
  object: fc.dictionary(name, tie('type'), { minKeys: 1, maxKeys: 5, noNullPrototype: true }),
}));

const schema = type.object.map((definition) => new Schema(definition as never));

function check(shape: Schema, record: object, order: readonly string[], fields?: readonly string[]): void {
  const presenter = new Presenter(shape, order);
  const expected = JSON.stringify(project(presenter.present(record), fields));
  expect(presenter.writerOf(fields)(record)).toBe(expected);
}

describe('the JSON of a record', () => {
  it('is that of the record as clients see it, whatever its schema and values', () => {
    const fields = fc.option(fc.array(name, { maxLength: 3 }), { nil: undefined });
    fc.assert(
      fc.property(schema, value.object, leaf, fc.array(name), fields, (shape, record, _id, order, shown) =>
        check(shape, { _id, __v: 3, ...record }, order, shown),
      ),
      { numRuns: 1_500 },
    );
  });

  it('escapes as JSON does', () => {
    const write = new Presenter(new Schema({ text: String }), []).writerOf();
    const every = Array.from({ length: 0x1_0000 }, (_, code) => String.fromCharCode(code));
    const texts = [...every, ...every.map((half) => `${half}\udc00`), '😀'.repeat(9), 'x'.repeat(9_999)];
    expect(texts.filter((text) => write({ text }) !== JSON.stringify({ text }))).toEqual([]);
  });

  it('follows a schema that contains itself', () => {
    const node = new Schema({ label: String, secret: { type: String, select: false } });
    node.add({ children: [node] });
    const tree = { label: 'a', secret: 's', children: [{ label: 'b', children: [{ secret: 's' }, null] }] };
    check(node, tree, []);
    expect(new Presenter(node, []).writerOf()(tree)).not.toContain('secret');
  });

  it('writes the holes of a list as null', () =>
    check(new Schema({ list: [String] }), { list: new Array(2) }, []));
});
