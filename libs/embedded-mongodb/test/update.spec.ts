import { Decimal128, Double, Int32, Long } from 'bson';
import { compileUpdate, type Update } from '../src/update/update.js';
import { upsertDocument } from '../src/update/upsert.js';
import { codeOf, doc, plain, typed } from './support/bson.js';

type Plain = Record<string, unknown>;
const options = { now: new Date(0) };

function applied(update: Plain, document: Plain): ReturnType<ReturnType<typeof compileUpdate>['apply']> {
  return compileUpdate(doc(update), options).apply(doc(document));
}

describe('compileUpdate', () => {
  it.each<[Plain, Plain, Plain]>([
    [{ $set: { b: 1, a: 1 } }, { _id: 1 }, { _id: 1, a: 1, b: 1 }],
    [{ $set: { 'a.b.c': 1 } }, {}, { a: { b: { c: 1 } } }],
    [{ $set: { 'a.3': 1 } }, { a: [0] }, { a: [0, null, null, 1] }],
    [{ $unset: { 'a.0': 1, b: 1 } }, { a: [1], b: 1 }, { a: [null] }],
    [{ $inc: { a: 1 } }, {}, { a: 1 }],
    [{ $mul: { a: 2 } }, {}, { a: 0 }],
    [{ $min: { a: 'x' } }, { a: 1 }, { a: 1 }],
    [{ $max: { a: 'x' } }, { a: 1 }, { a: 'x' }],
    [{ $rename: { a: 'b.c' } }, { a: 1 }, { b: { c: 1 } }],
    [{ $push: { a: { $each: [3, 1], $position: 0, $slice: 2 } } }, { a: [2] }, { a: [3, 1] }],
    [
      { $push: { a: { $each: [3], $slice: Long.fromString('9007199254740993') } } },
      { a: [2] },
      { a: [2, 3] },
    ],
    [{ $push: { a: { $each: [9], $position: -1 } } }, { a: [1, 2] }, { a: [1, 9, 2] }],
    [
      { $addToSet: { a: { y: 1, x: 1 } } },
      { a: [{ x: 1, y: 1 }] },
      {
        a: [
          { x: 1, y: 1 },
          { y: 1, x: 1 },
        ],
      },
    ],
    [{ $addToSet: { a: { $each: [1, 2, 2] } } }, { a: [1] }, { a: [1, 2] }],
    [{ $pull: { a: { $gt: 1 } } }, { a: [1, 2, 3] }, { a: [1] }],
    [{ $pull: { a: { $gt: 1 } } }, { a: [[1, 2], [[2]], 1] }, { a: [[[2]], 1] }],
    [{ $pull: { a: /b/i } }, { a: [[null, 'a.b'], 'B', 'c'] }, { a: ['c'] }],
    [{ $pull: { a: { b: 1 } } }, { a: [{ b: 1, c: 2 }, { b: 2 }] }, { a: [{ b: 2 }] }],
    [{ $pop: { a: -1 } }, { a: [1, 2] }, { a: [2] }],
    [{ $setOnInsert: { a: 1 } }, {}, {}],
    [{ $currentDate: { a: true } }, {}, { a: new Date(0) }],
    [{ x: 1 }, { _id: 1, a: 1 }, { _id: 1, x: 1 }],
  ])('%j on %j gives %j', (update, document, expected) => {
    expect(plain(applied(update, document).document)).toEqual(expected);
  });

  it('keeps the types of numbers', () => {
    const document = { i: new Int32(1), l: Long.fromNumber(1), d: new Double(1) };
    const { document: after } = applied({ $inc: { i: 1, l: 1, d: 1 } }, document);
    expect(typed(after)).toBe('{"i":{"$numberInt":"2"},"l":{"$numberLong":"2"},"d":{"$numberDouble":"2.0"}}');
  });

  it('widens an int that overflows and refuses a long that does', () => {
    expect(typed(applied({ $inc: { a: 1 } }, { a: 2147483647 }).document)).toBe(
      '{"a":{"$numberLong":"2147483648"}}',
    );
    expect(codeOf(() => applied({ $inc: { a: 1 } }, { a: Long.MAX_VALUE }))).toBe(2);
  });

  it.each<[Plain, Plain]>([
    [{ $set: { _id: 1 } }, { _id: 1 }],
    [{ $inc: { a: 0 } }, { a: 1 }],
    [{ $unset: { b: 1 } }, { a: 1 }],
    [{ $addToSet: { a: 1 } }, { a: [1] }],
    [{ $set: {} }, { a: 1 }],
  ])('%j leaves %j unchanged', (update, document) => {
    expect(applied(update, document).changed).toBe(false);
  });

  it('counts NaN as a change', () => {
    expect(applied({ $inc: { a: 1 } }, { a: NaN }).changed).toBe(true);
  });

  it('counts a new type as a change', () => {
    expect(applied({ $set: { a: new Double(1) } }, { a: new Int32(1) }).changed).toBe(true);
  });

  it.each<[Plain, Plain, number]>([
    [{ $set: { a: 1 }, $inc: { 'a.b': 1 } }, {}, 40],
    [{ $set: { a: 1 }, $inc: { a: 'x' } }, {}, 14],
    [{ $push: { a: { $each: [], $slice: new Decimal128('1E-6176') } } }, { a: [] }, 2],
    [{ $set: { _id: 2 } }, { _id: 1 }, 66],
    [{ _id: 2 }, { _id: 1 }, 66],
    [{ $set: { 'a.b': 1 } }, { a: 1 }, 28],
    [{ $set: { 'a..b': 1 } }, {}, 56],
    [{ $set: { $a: 1 } }, {}, 52],
    [{ $inc: { a: 'x' } }, {}, 14],
    [{ $inc: { a: 1 } }, { a: 'x' }, 14],
    [{ $inc: { a: 1 } }, { a: Decimal128.fromString('1') }, 115],
    [{ $mul: { a: Decimal128.fromString('1') } }, {}, 115],
    [{ $push: { a: 1 } }, { a: 1 }, 2],
    [{ $pop: { a: 2 } }, { a: [] }, 9],
    [{ $foo: { a: 1 } }, {}, 115],
    [{ $rename: { a: 'a' } }, {}, 2],
    [{ $rename: { 'a.0': 'b' } }, { a: [1] }, 115],
    [{ $rename: { b: 'a.x' } }, { a: [1], b: 1 }, 115],
    [{ $set: { 'a.$': 1 } }, {}, 115],
    [{ $set: { 'a.$[]': 1 } }, {}, 115],
    [{ $bit: { a: { or: 1 } } }, {}, 115],
    [{ $set: { 'a.10002': 1 } }, { a: [0] }, 115],
    [{ $push: { a: { $each: [3, 1], $sort: 1 } } }, { a: [2] }, 115],
    [{ $currentDate: { a: { $type: 'timestamp' } } }, {}, 115],
  ])('refuses %j on %j with %d', (update, document, code) => {
    expect(codeOf(() => applied(update, document))).toBe(code);
  });
});

describe('upsertDocument', () => {
  function upserted(filter: Plain, update: Plain): Plain {
    return plain(upsertDocument(doc(filter), compileUpdate(doc(update), options), () => 'made'));
  }

  it.each<[Plain, Plain, Plain]>([
    [{ a: 1, b: { $gt: 1 } }, { $set: { c: 1 } }, { _id: 'made', a: 1, c: 1 }],
    [
      { a: { $eq: 1 }, $and: [{ b: { $in: [2] } }], $or: [{ c: 3 }] },
      { $set: {} },
      { _id: 'made', a: 1, b: 2, c: 3 },
    ],
    [{ 'a.b': 1, _id: 5 }, { $setOnInsert: { c: 1 } }, { _id: 5, a: { b: 1 }, c: 1 }],
    [{ a: 1, _id: 5 }, { b: 1 }, { _id: 5, b: 1 }],
    [{ a: { $all: [1] } }, { $inc: { a: 1 } }, { _id: 'made', a: 2 }],
  ])('%j and %j give %j', (filter, update, expected) => {
    expect(upserted(filter, update)).toEqual(expected);
  });

  it.each<[Plain, Plain, number]>([
    [{ a: 1, $and: [{ a: 2 }] }, { $set: { b: 1 } }, 54],
    [{ _id: 1 }, { $set: { _id: 2 } }, 66],
    [{}, { $set: { _id: [1] } }, 53],
    [{ $expr: true }, { $set: { a: 1 } }, 224],
    [{ _id: 1, a: { $all: [] } }, { $set: { b: 1 } }, 115],
    [{ _id: 1, $or: [{ a: { $all: [] } }, { c: 1 }] }, { $set: { b: 1 } }, 115],
  ])('refuses %j and %j with %d', (filter, update, code) => {
    expect(codeOf(() => upserted(filter, update))).toBe(code);
  });
});

describe('a replacement', () => {
  it.each<[Plain, Plain, boolean]>([
    [{ _id: 1, a: 1 }, { _id: 1, a: 1 }, false],
    [{ _id: 1, a: 1 }, { a: 1 }, true],
    [{ _id: 1 }, {}, false],
  ])('of %j by %j says whether it changed: %j', (before, update, changed) => {
    expect(applied(update, before).changed).toBe(changed);
  });
});

describe('a pipeline as an update', () => {
  const update = (stages: unknown[]): Update => compileUpdate(doc({ u: stages }).get('u') ?? null, options);

  it.each<[unknown[], Plain]>([
    [[{ $set: { b: '$a', 'c.d': 1 } }], { _id: 1, a: 1, b: 1, c: { d: 1 } }],
    [[{ $unset: 'a' }, { $addFields: { b: 2 } }], { _id: 1, b: 2 }],
    [[{ $project: { _id: 0, b: '$a' } }], { _id: 1, b: 1 }],
    [[{ $replaceWith: { b: '$a' } }], { _id: 1, b: 1 }],
    [
      [{ $replaceRoot: { newRoot: { $setField: { field: 'x.y', input: '$$ROOT', value: 2 } } } }],
      { _id: 1, a: 1, 'x.y': 2 },
    ],
  ])('%j makes %j', (stages, after) => {
    const { document, changed } = update(stages).apply(doc({ _id: 1, a: 1 }));
    expect(plain(document)).toEqual(after);
    expect(changed).toBe(true);
  });

  it.each<[unknown[], number]>([
    [[{ $match: {} }], 72],
    [[{ $foo: {} }], 115],
    [[{ $set: { b: '$$NOW' } }], 115],
    [[{ $set: { _id: 2 } }], 66],
    [[{ $set: { _id: [1] } }], 53],
    [[{ $replaceWith: '$a' }], 40228],
  ])('%j ends with error %i', (stages, code) => {
    expect(codeOf(() => update(stages).apply(doc({ _id: 1, a: 1 })))).toBe(code);
  });

  it('starts an upsert from the values in the filter', () => {
    const inserted = upsertDocument(doc({ q: 5 }), update([{ $set: { z: '$q' } }]), () => new Int32(9));
    expect(plain(inserted)).toEqual({ _id: 9, q: 5, z: 5 });
  });
});
