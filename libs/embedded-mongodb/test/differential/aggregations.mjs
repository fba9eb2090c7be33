/**
 * Expressions and pipelines of another kind than those of run.mjs: paths through arrays of arrays,
 * dates and timestamps at their edges, and every arithmetic operator over all numeric types.
 *
 *   REFERENCE_MONGODB_URI=mongodb://127.0.0.1:27017 npm run differential:aggregations -w libs/embedded-mongodb -- --seed 1 --cases 3000
 */
import { Decimal128, Double, Int32, Long, ObjectId, Timestamp } from 'bson';
import { apart, variable } from './constants.mjs';
import { versus } from './versus.mjs';

const decimals = [
  ...[
    '0',
    '-0',
    '1',
    '-1',
    '0.5',
    '-0.5',
    '1.5',
    '2.5',
    '-2.5',
    '0.1',
    '7',
    '1.000',
    '1E+3',
    '1E-6176',
    '9.9E6144',
    'NaN',
  ],
  ...[
    'Infinity',
    '-Infinity',
    '9223372036854775807.5',
    '9999999999999999999999999999999999',
    '0.3333333333333333333333333333333333',
  ],
].map((text) => Decimal128.fromString(text));
const doubles = [
  ...[
    0,
    -0,
    1,
    -1,
    2,
    3,
    7,
    0.1,
    0.5,
    -0.5,
    1.5,
    2.5,
    -2.5,
    0.49999999999999994,
    1e300,
    5e-324,
    NaN,
    Infinity,
    -Infinity,
  ],
  ...[
    2 ** 31,
    -(2 ** 31),
    2 ** 31 - 1,
    2 ** 52 + 0.5,
    2 ** 53,
    2 ** 63,
    -(2 ** 63),
    1e15 + 0.3,
    123456789.1234567,
  ],
].map((value) => new Double(value));
const ints = [0, 1, -1, 2, 3, 7, -7, 2 ** 31 - 1, -(2 ** 31)].map((value) => new Int32(value));
const longs = [
  '0',
  '1',
  '-1',
  '2',
  '3',
  '7',
  '-7',
  '2147483647',
  '2147483648',
  '-2147483649',
  '9007199254740993',
]
  .map((text) => Long.fromString(text))
  .concat([Long.MAX_VALUE, Long.MIN_VALUE, Long.MAX_VALUE.sub(1)]);
const dates = [
  0, 1, -1, 1_600_000_000_123, -62_198_755_200_000, 951_782_400_000, 4_102_444_800_000, 253_402_300_799_999,
]
  .concat([8_640_000_000_000_000, -8_640_000_000_000_000, 8_639_999_999_999_000])
  .map((millis) => new Date(millis));
const timestamps = [
  [1, 2],
  [0x7fffffff, 1],
  [0x80000000, 1],
  [0xffffffff, 0xffffffff],
].map(([t, i]) => new Timestamp({ t, i }));
const ids = [
  '000000000000000000000000',
  '0123456789abcdef01234567',
  '7fffffff0000000000000000',
  '80000000ffffffffffffffff',
]
  .concat('ffffffffffffffffffffffff')
  .map((hex) => new ObjectId(hex));
const strings = ['', 'a', 'b', 'ab', 'é', '😀', 'A'];
const names = ['a', 'b', 'c'];

function number(random) {
  return random.pick(random.chance(0.02) ? decimals : random.pick([ints, longs, doubles]));
}

function scalar(random) {
  return random.weighted([
    [6, () => number(random)],
    [2, () => random.pick(strings)],
    [1, () => random.pick(dates)],
    [1, () => random.pick(timestamps)],
    [1, () => random.pick(ids)],
    [2, () => random.pick([null, true, false])],
  ]);
}

/** Arrays inside arrays with documents in them, which paths are to go through. */
function nested(random, depth) {
  if (depth === 0) return scalar(random);
  return random.weighted([
    [2, () => scalar(random)],
    [4, () => random.list(0, 3, () => nested(random, depth - 1))],
    [4, () => object(random, depth - 1)],
  ]);
}

function object(random, depth) {
  return Object.fromEntries(random.list(0, 2, () => [random.pick(names), nested(random, depth)]));
}

function document(random, _id) {
  const made = { _id, a: nested(random, 4), b: nested(random, 3), n: number(random), m: number(random) };
  if (random.chance(0.7)) made.d = random.pick(dates);
  if (random.chance(0.5)) made.t = random.pick([...timestamps, ...ids, ...dates]);
  if (random.chance(0.7)) made.s = random.pick(strings);
  if (random.chance(0.7)) made.l = random.list(0, 4, () => scalar(random));
  return made;
}

/** Where an expression stands, and how deep it may become. */
class Place {
  constructor(random, depth = 3) {
    Object.assign(this, { random, depth });
  }

  inner() {
    return new Place(this.random, this.depth - 1);
  }
}

function path(random) {
  const inside = random.list(0, 2, () => (random.chance(0.05) ? '0' : random.pick(names)));
  return [random.pick(['a', 'a', 'b', 'l', 'n', 'zz']), ...inside].join('.');
}

function any(place) {
  const { random, depth } = place;
  const leaves = [
    [4, () => `$${path(random)}`],
    [2, () => ({ $literal: nested(random, 2) })],
    [1, () => `$$ROOT.${path(random)}`],
    [1, () => `$$CURRENT.${path(random)}`],
  ];
  if (depth <= 0) return random.weighted(leaves);
  const inner = () => any(place.inner());
  return random.weighted([
    ...leaves,
    [3, () => numeric(place)],
    [2, () => dated(place)],
    [2, () => truth(place)],
    [1, () => ({ $ifNull: [variable(inner()), inner()] })],
    [1, () => ({ $cond: [truth(place.inner()), inner(), inner()] })],
    [1, () => ({ $type: variable(inner()) })],
    [1, () => ({ $arrayElemAt: [listed(place.inner()), random.pick([0, 1, -1, 5])] })],
    [1, () => ({ x: inner(), y: inner() })],
    [1, () => [inner(), inner()]],
    [1, () => ({ $in: [inner(), listed(place.inner())] })],
    [1, () => ({ $size: listed(place.inner()) })],
  ]);
}

/** An array in any case: what is none ends the whole command. */
function listed(place) {
  const made = any(place.depth > 0 ? place.inner() : place);
  return place.random.chance(0.01) ? made : { $cond: [{ $isArray: [variable(made)] }, made, ['$a', made]] };
}

function truth(place) {
  const inner = () => any(place.inner());
  const { random } = place;
  return random.weighted([
    [4, () => ({ [random.pick(['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'])]: apart([inner(), inner()]) })],
    [1, () => ({ [random.pick(['$and', '$or'])]: random.list(0, 2, inner).map(variable) })],
    [1, () => ({ $not: [variable(inner())] })],
    [1, () => ({ $isArray: [variable(inner())] })],
  ]);
}

/** A number or null in any case, but for a mistake now and then. */
function counted(place) {
  const { random } = place;
  return random.weighted([
    [4, () => ({ $literal: number(random) })],
    [3, () => random.pick(['$n', '$m'])],
    [place.depth > 0 ? 3 : 0, () => numeric(place.inner())],
    [0.1, () => any(place.inner())],
  ]);
}

function numeric(place) {
  const { random } = place;
  const inner = () => counted(place.inner());
  return random.weighted([
    [3, () => ({ [random.pick(['$add', '$multiply'])]: apart(random.list(0, 4, inner)) })],
    [3, () => ({ [random.pick(['$subtract', '$divide'])]: apart([inner(), inner()]) })],
  ]);
}

/** Dates and strings. */
function dated(place) {
  const { random } = place;
  const date = () => random.pick(['$d', '$d', { $literal: random.pick(dates) }]);
  const moment = () => random.pick([date(), '$t', { $literal: random.pick([...timestamps, ...ids]) }]);
  return random.weighted([
    [2, () => ({ $subtract: apart([date(), date()]) })],
    [2, () => ({ $gt: apart([moment(), moment()]) })],
    [1, () => ({ $concat: ['$s', random.pick(strings)] })],
  ]);
}

function stage(random) {
  const place = new Place(random);
  return random.weighted([
    [5, () => ({ $project: { r: any(place) } })],
    [3, () => ({ $project: { r: numeric(place) } })],
    [2, () => ({ $project: { r: dated(place) } })],
    [2, () => ({ [random.pick(['$addFields', '$set'])]: { a: any(place) } })],
    [1, () => ({ $replaceWith: { r: any(place), a: '$a' } })],
    [1, () => ({ $replaceRoot: { newRoot: { r: any(place), n: '$n' } } })],
    [
      1,
      () => ({ $unwind: { path: `$${random.pick(['a', 'l', 'a.b'])}`, preserveNullAndEmptyArrays: true } }),
    ],
    [2, () => grouped(place)],
    [1, () => ({ $facet: { x: [{ $project: { r: any(place) } }] } })],
  ]);
}

function grouped(place) {
  const { random } = place;
  const total = random.pick(['$sum', '$avg', '$min', '$max', '$first', '$last', '$push', '$addToSet']);
  const operand = random.pick(['$n', '$m', counted(place), any(place), '$a.b']);
  const key = random.pick([null, '$s', { $type: '$a' }, { $gt: ['$n', 2] }, { k: any(place.inner()) }]);
  return { $group: { _id: key, r: { [total]: operand } } };
}

function pipeline(random) {
  const stages = [{ $sort: { _id: 1 } }, ...random.list(1, 2, () => stage(random))];
  // A match behind other stages may be moved before them, and then spares them documents that they would fail on.
  if (random.chance(0.1)) stages.splice(1, 1, { $match: { $expr: truth(new Place(random)) } });
  // What comes out of a group has no order of its own.
  const group = stages.findIndex((each) => '$group' in each);
  if (group < 0) return stages;
  // Nor have the elements of a set.
  const isSet = '$addToSet' in stages[group].$group.r;
  const inOrder = isSet ? [{ $project: { r: { $size: '$r' } } }] : [];
  return [...stages.slice(0, group + 1), ...inOrder, { $sort: { _id: 1 } }];
}

await versus('aggregations', (random) => ({
  documents: Array.from({ length: 12 }, (_, id) => document(random, id)),
  commands: Array.from({ length: 100 }, () => ({ aggregate: 'c', pipeline: pipeline(random), cursor: {} })),
  // MongoDB keeps the place of a field that one stage removes and a later one adds again, and of two stages that fail it may
  // notice either first.
  leeway: ({ pipeline: stages }) => ({
    anyFieldOrder: stages.length > 2,
    anyError: stages.length > 2,
  }),
}));
