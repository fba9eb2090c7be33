import { compileProjection } from '../src/query/projection.js';
import { sortDocuments } from '../src/index/sort-order.js';
import { parseSort } from '../src/query/sort.js';
import { codeOf, doc, plain } from './support/bson.js';

type Plain = Record<string, unknown>;

describe('parseSort', () => {
  function sorted(spec: Plain, documents: Plain[]): unknown[] {
    return sortDocuments(documents.map(doc), parseSort(doc(spec))).map((each) => plain(each).a);
  }

  it('orders the types, an empty array before null', () => {
    const values = [true, [], 'x', { b: 1 }, null, 1];
    expect(
      sorted(
        { a: 1 },
        values.map((a) => ({ a })),
      ),
    ).toEqual([[], null, 1, 'x', { b: 1 }, true]);
  });

  it('uses the smallest element of an array in ascending order and the greatest in descending order', () => {
    const documents = [{ a: [5, 1] }, { a: 3 }, { a: [2, 4] }];
    expect(sorted({ a: 1 }, documents)).toEqual([[5, 1], [2, 4], 3]);
    expect(sorted({ a: -1 }, documents)).toEqual([[5, 1], [2, 4], 3]);
  });

  it('takes the values of two paths from one element', () => {
    const documents = [
      {
        a: [
          { b: 1, c: 9 },
          { b: 2, c: 0 },
        ],
      },
      { a: [{ b: 1, c: 5 }] },
    ];
    expect(sorted({ 'a.b': 1, 'a.c': 1 }, documents)).toEqual([documents[1]?.a, documents[0]?.a]);
  });

  it.each<[Plain, number]>([
    [{ a: 2 }, 15975],
    [{ a: 'x' }, 15974],
    [{ '': 1 }, 40352],
    [{ 'a.': 1 }, 40353],
  ])('refuses %j with %d', (spec, code) => {
    expect(codeOf(() => parseSort(doc(spec)))).toBe(code);
  });

  it('refuses two arrays side by side', () => {
    expect(codeOf(() => sorted({ a: 1, b: 1 }, [{ a: [1], b: [1] }]))).toBe(2);
  });
});

describe('compileProjection', () => {
  const document = { _id: 1, a: { b: 1, c: 2 }, d: [{ e: 1, f: 2 }, 3, { e: 4 }] };

  it.each<[Plain, Plain]>([
    [{}, document],
    [{ a: 1 }, { _id: 1, a: document.a }],
    [{ 'a.b': 1, _id: 0 }, { a: { b: 1 } }],
    [{ a: { c: 1 } }, { _id: 1, a: { c: 2 } }],
    [{ 'd.e': 1 }, { _id: 1, d: [{ e: 1 }, { e: 4 }] }],
    [
      { 'd.e': 0, a: 0 },
      { _id: 1, d: [{ f: 2 }, 3, {}] },
    ],
    [{ _id: 0 }, { a: document.a, d: document.d }],
    [{ _id: 1 }, { _id: 1 }],
    [
      { x: '$a.b', y: { $add: ['$a.b', '$a.c'] } },
      { _id: 1, x: 1, y: 3 },
    ],
  ])('%j gives %j', (spec, expected) => {
    expect(plain(compileProjection(doc(spec)).apply(doc(document)))).toEqual(expected);
  });

  it.each<[Plain, number]>([
    [{ a: 1, b: 0 }, 31254],
    [{ a: 0, b: 1 }, 31253],
    [{ a: 1, 'a.b': 1 }, 31249],
    [{ 'a.b': 1, a: 1 }, 31250],
    [{ a: {} }, 51270],
    [{ a: 0, b: '$x' }, 31310],
    [{ a: { $foo: 1 } }, 115],
    [{ 'a.$': 1 }, 115],
    [{ d: { $slice: 1 } }, 115],
    [{ d: { $elemMatch: { e: 4 } } }, 115],
    [{ a: { $meta: 'indexKey' } }, 115],
  ])('refuses %j with %d', (spec, code) => {
    expect(codeOf(() => compileProjection(doc(spec)))).toBe(code);
  });
});
