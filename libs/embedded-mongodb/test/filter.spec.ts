import { BSONRegExp, Decimal128, Double, Long, ObjectId } from 'bson';
import { compileFilter } from '../src/query/filter.js';
import { codeOf, doc } from './support/bson.js';

type Plain = Record<string, unknown>;

function matches(filter: Plain, document: Plain): boolean {
  return compileFilter(doc(filter)).matches(doc(document));
}

/** Enough values for a look-up. */
const many = Array.from({ length: 12 }, (_, n) => (n % 2 ? `${n}` : ObjectId.createFromTime(n)));
const id = ObjectId.createFromTime(4);

describe('compileFilter', () => {
  it.each<[Plain, Plain, boolean]>([
    [{ a: 1 }, { a: Long.fromNumber(1) }, true],
    [{ a: Decimal128.fromString('1') }, { a: 1 }, true],
    [{ a: { $lt: 5 } }, { a: new Double(NaN) }, false],
    [{ a: { $gte: new Double(NaN) } }, { a: new Double(NaN) }, true],
    [{ a: { $gt: 1 } }, { a: 'x' }, false],
    [{ a: { $gte: null } }, {}, true],
    [{ a: { $gt: null } }, {}, false],
    [{ a: null }, { a: [] }, false],
    [{ a: null }, { a: [null] }, true],
    [{ 'a.b': null }, { a: [1, { b: 1 }] }, false],
    [{ 'a.b': null }, { a: [{}] }, true],
    [{ 'a.b': null }, { a: [] }, false],
    [{ 'a.b': 1 }, { a: [{ b: 1 }] }, true],
    [{ 'a.b': 1 }, { a: [[{ b: 1 }]] }, false],
    [{ 'a.0': 1 }, { a: [1] }, true],
    [{ 'a.0': 1 }, { a: [[1]] }, false],
    [{ 'a.0': [1] }, { a: [[1]] }, true],
    [{ 'a.0.b': 1 }, { a: [{ b: 1 }] }, true],
    [{ a: { $all: [1] } }, { a: 1 }, true],
    [{ a: { $all: [] } }, { a: 1 }, false],
    [{ a: { $in: [[1, 2]] } }, { a: [1, 2] }, true],
    [{ a: { $in: [/^x/] } }, { a: 'xy' }, true],
    [{ a: { $nin: [1] } }, {}, true],
    [{ a: { $in: many } }, { a: id }, true],
    [{ a: { $in: many } }, { a: [1, '3'] }, true],
    [{ a: { $in: many } }, { a: id.toHexString() }, false],
    [{ a: { $in: many } }, { a: 3 }, false],
    [{ a: { $in: many } }, {}, false],
    [{ a: { $in: [...many, null] } }, {}, true],
    [{ a: { $nin: many } }, {}, true],
    [{ a: { $nin: many } }, { a: [1, id] }, false],
    [{ a: { $type: 'int' } }, { a: ['x', 1] }, true],
    [{ a: { $type: 'array' } }, { a: [] }, true],
    [{ a: { $gt: [] } }, { a: [1] }, true],
    [{ a: { $elemMatch: { $ref: 'r', $id: 1 } } }, { a: [{ $ref: 'r', $id: 1, $db: 'd' }] }, true],
    [{ a: { $elemMatch: { $id: 1 } } }, { a: [{ $ref: 'r', $id: 2 }] }, false],
    [{ a: { $elemMatch: { a: null } } }, { a: [1] }, false],
    [{ a: { $elemMatch: { b: null } } }, { a: [{}] }, true],
    [{ a: { $elemMatch: { $gt: 1, $lt: 3 } } }, { a: [0, 4] }, false],
    [{ a: { $elemMatch: { $gt: 1, $lt: 3 } } }, { a: [0, 2] }, true],
    [{ a: { $gt: 1, $lt: 3 } }, { a: [0, 4] }, true],
    [{ a: { $size: 2 } }, { a: [1, 2] }, true],
    [{ a: { $not: { $gt: 1 } } }, {}, true],
    [{ a: { $ne: 1 } }, { a: [1, 2] }, false],
    [{ a: { b: 1, c: 1 } }, { a: { c: 1, b: 1 } }, false],
    [{ a: /^b$/ }, { a: 'b\n' }, true],
    [{ a: { $regex: 'A', $options: 'i' } }, { a: 'xax' }, true],
    [{ $or: [{ a: 1 }, { b: 1 }] }, { b: 1 }, true],
    [{ $nor: [{ a: 1 }, { b: 1 }] }, { c: 1 }, true],
    [{ $expr: { $gt: ['$a', 1] } }, { a: 'x' }, true],
    [{ $expr: { $eq: ['$a', 1] } }, { a: [1] }, false],
  ])('%j on %j: %s', (filter, document, expected) => {
    expect(matches(filter, document)).toBe(expected);
  });

  it.each<[Plain, number]>([
    [{ a: { $foo: 1 } }, 115],
    [{ $foo: 1 }, 115],
    [{ $or: [] }, 2],
    [{ a: { $in: 1 } }, 2],
    [{ a: { $size: Decimal128.fromString('1E-6176') } }, 2],
    [{ a: { $size: new Double(0.5) } }, 2],
    [{ a: { $size: -1 } }, 2],
    [{ a: { $type: true } }, 14],
    [{ a: { $type: [] } }, 9],
    [{ a: { $regex: '(' } }, 51091],
    [{ a: { $regex: new BSONRegExp('a', 'i'), $options: 's' } }, 51075],
    [{ $expr: { $foo: 1 } }, 115],
    [{ $where: '1' }, 115],
    [{ a: { $near: [1, 1] } }, 115],
    [{ a: { $mod: [2, 0] } }, 115],
    [{ a: { $regex: '(?>x)' } }, 115],
  ])('refuses %j with %d', (filter, code) => {
    expect(codeOf(() => compileFilter(doc(filter)))).toBe(code);
  });

  it('describes the bounds that an index can use', () => {
    const { predicates, exact } = compileFilter(doc({ a: { $gt: 1 }, 'b.c': { $in: ['x', 'y'] }, d: null }));
    expect(predicates.map(({ path, includesMissing }) => [path, includesMissing])).toEqual([
      ['a', false],
      ['b.c', false],
      ['d', true],
    ]);
    expect(exact).toBe(true);
    expect(compileFilter(doc({ a: 1, b: { $ne: 1 } })).exact).toBe(false);
  });
});
