import { Decimal128, Double, Int32, Long } from 'bson';
import { compilePipeline } from '../src/pipeline/pipeline.js';
import { type BsonDocument, isDocument } from '../src/bson/types.js';
import { codeOf, doc, plain } from './support/bson.js';

type Plain = Record<string, unknown>;

/** Stages behind a `$limit`, which keeps them out of the head. */
function run(stages: Plain[], documents: Plain[]): Plain[] {
  const pipeline = compilePipeline([{ $limit: 100 }, ...stages].map(doc));
  return [...pipeline.run(documents.map(doc))].filter(isDocument).map((each: BsonDocument) => plain(each));
}

describe('compilePipeline', () => {
  const documents = [
    { _id: 1, kind: 'a', n: 1, tags: ['x', 'y'] },
    { _id: 2, kind: 'b', n: 2, tags: [] },
    { _id: 3, kind: 'a', n: new Double(3.5) },
  ];

  it.each<[Plain[], Plain[]]>([
    [[{ $match: { kind: 'a' } }, { $count: 'found' }], [{ found: 2 }]],
    [
      [{ $group: { _id: '$kind', sum: { $sum: '$n' }, mean: { $avg: '$n' }, all: { $push: '$_id' } } }],
      [
        { _id: 'a', sum: 4.5, mean: 2.25, all: [1, 3] },
        { _id: 'b', sum: 2, mean: 2, all: [2] },
      ],
    ],
    // Of all but the first of a group, the value is not even computed.
    [
      [{ $group: { _id: null, first: { $first: { $divide: [1, { $subtract: ['$n', 2] }] } } } }],
      [{ _id: null, first: -1 }],
    ],
    [
      [{ $unwind: { path: '$tags', preserveNullAndEmptyArrays: true } }, { $project: { tags: 1 } }],
      [{ _id: 1, tags: 'x' }, { _id: 1, tags: 'y' }, { _id: 2 }, { _id: 3 }],
    ],
    [[{ $sort: { n: -1 } }, { $skip: 1 }, { $limit: 1 }, { $project: { _id: 1 } }], [{ _id: 2 }]],
    // What is sorted by _id alone counts as a whole: numbers come before documents, and those before arrays.
    [
      [{ $group: { _id: { $ifNull: ['$tags', '$n'] } } }, { $sort: { _id: 1 } }],
      [{ _id: 3.5 }, { _id: [] }, { _id: ['x', 'y'] }],
    ],
    [
      [{ $group: { _id: '$tags' } }, { $sort: { _id: -1 } }],
      [{ _id: ['x', 'y'] }, { _id: [] }, { _id: null }],
    ],
    [
      [{ $addFields: { m: { $multiply: ['$n', 2] } } }, { $unset: ['tags', 'kind', 'n'] }, { $limit: 1 }],
      [{ _id: 1, m: 2 }],
    ],
    [
      [{ $facet: { few: [{ $limit: 1 }, { $project: { _id: 1 } }], total: [{ $count: 'n' }] } }],
      [{ few: [{ _id: 1 }], total: [{ n: 3 }] }],
    ],
    [
      [{ $project: { _id: 0, big: { $cond: [{ $gte: ['$n', 2] }, 'yes', '$$REMOVE'] } } }],
      [{}, { big: 'yes' }, { big: 'yes' }],
    ],
  ])('%j', (stages, expected) => {
    expect(run(stages, documents)).toEqual(expected);
  });

  it('hands the stages that a query can answer to the query', () => {
    const { head } = compilePipeline(
      [{ $match: { a: 1 } }, { $sort: { b: 1 } }, { $skip: 2 }, { $limit: 3 }].map(doc),
    );
    expect(head).toEqual({ filter: doc({ a: 1 }), sort: doc({ b: 1 }), skip: 2, limit: 3 });
  });

  it('passes opportunities to pause through every stage', () => {
    const stages = [
      { $limit: 9 },
      { $match: {} },
      { $group: { _id: null } },
      { $sort: { _id: 1 } },
      { $count: 'n' },
    ];
    const pipeline = compilePipeline(stages.map(doc));
    expect(
      [...pipeline.run([undefined, doc({}), undefined])].filter((each) => each === undefined),
    ).toHaveLength(2);
  });

  it.each<[Plain, number]>([
    [{ $foo: 1 }, 115],
    [{}, 40323],
    [{ $lookup: {} }, 115],
    [{ $group: { n: { $sum: 1 } } }, 15955],
    [{ $group: { _id: 1, n: { $foo: 1 } } }, 115],
    [{ $limit: 0 }, 15958],
    [{ $project: {} }, 51272],
    [{ $addFields: { a: { $divide: [1, 0] } } }, 115],
    [{ $addFields: { a: '$$x' } }, 17276],
    [{ $addFields: { a: { $dateTrunc: {} } } }, 115],
    [{ $unwind: 'a' }, 28818],
    [{ $unwind: { path: '$a', includeArrayIndex: 'i' } }, 115],
    [{ $facet: { a: [{ $facet: { b: [] } }] } }, 40600],
  ])('refuses %j with %d', (stage, code) => {
    expect(codeOf(() => compilePipeline([doc(stage)]))).toBe(code);
  });

  it.each(['$sum', '$avg'])('refuses the %s of a decimal', (operator) => {
    const stage = { $group: { _id: null, v: { [operator]: '$v' } } };
    expect(codeOf(() => run([stage], [{ v: new Decimal128('1') }]))).toBe(115);
  });

  it('adds up exactly as MongoDB does, to the last digit', () => {
    // The expected result is that of a MongoDB 7.0.
    const almost = [0.49999999999999994, 0.49999999999999994, 0.1].map((v) => ({ v: new Double(v) }));
    const sum = (last: unknown): unknown =>
      run([{ $group: { _id: null, sum: { $sum: '$v' } } }], [...almost, { v: last }])[0]?.sum;
    expect([sum(Long.fromNumber(1)), sum(new Int32(1))]).toEqual([2.1, 2.0999999999999996]);
  });
});
