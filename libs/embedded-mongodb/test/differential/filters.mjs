import { BSONRegExp, Int32, MaxKey, MinKey } from 'bson';
import { expression } from './expressions.mjs';
import { integer, path, scalar, string, value } from './values.mjs';

const patterns = [
  'a',
  '^a',
  'b$',
  '^a.',
  '[a-b]c',
  'a|B',
  '^$',
  '.',
  'A',
  '\\.',
  '(a)(b)',
  '^ab?',
  '\\d',
  '\\w+',
  'é',
  'c*$',
];
const types = [
  'double',
  'string',
  'object',
  'array',
  'binData',
  'objectId',
  'bool',
  'date',
  'null',
  'regex',
  'int',
  'timestamp',
  'long',
  'decimal',
  'minKey',
  'maxKey',
  'number',
];
const comparisons = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'];

/** A filter over several fields. */
export function filter(random, depth = 2) {
  return Object.fromEntries(random.list(random.chance(0.05) ? 0 : 1, 2, () => clause(random, depth)));
}

function clause(random, depth) {
  if (depth > 0 && random.chance(0.05)) return ['$expr', random.flawless(() => expression(random))];
  if (depth > 0 && random.chance(0.2)) {
    const operator = random.pick(['$and', '$or', '$nor']);
    return [operator, random.mistake(0.02) ? [] : random.list(1, 3, () => filter(random, depth - 1))];
  }
  if (random.mistake(0.01)) return [random.pick(['$foo', '$and', '$or', '$nor']), scalar(random)];
  return [path(random), random.chance(0.3) ? operand(random) : operators(random, depth)];
}

/** What a field is compared with. */
function operand(random) {
  return random.chance(0.05) ? regex(random) : value(random, random.below(3));
}

function regex(random) {
  return new BSONRegExp(random.pick(patterns), random.chance(0.3) ? random.pick(['i', 'm', 's', 'x']) : '');
}

/** One or two operators on a field. */
export function operators(random, depth) {
  const entries = random.list(1, random.chance(0.2) ? 2 : 1, () => operator(random, depth));
  return Object.fromEntries(
    entries.flatMap(([name, argument]) =>
      name === '$regex' ? regexOperator(random, argument) : [[name, argument]],
    ),
  );
}

function regexOperator(random, argument) {
  return random.chance(0.3)
    ? [
        ['$regex', argument],
        ['$options', 'i'],
      ]
    : [['$regex', argument]];
}

function operator(random, depth) {
  if (random.mistake(0.02)) return wrongOperator(random);
  return random.weighted([
    [12, () => comparison(random)],
    [4, () => [random.pick(['$in', '$nin']), random.list(0, 3, () => operand(random))]],
    [2, () => ['$exists', random.chance(0.9) ? random.chance(0.5) : scalar(random)]],
    [
      2,
      () => ['$type', random.chance(0.7) ? random.pick(types) : random.list(1, 2, () => random.pick(types))],
    ],
    [2, () => ['$regex', random.pick(patterns)]],
    [2, () => ['$all', random.list(0, 2, () => operand(random))]],
    [1, () => ['$all', random.list(1, 2, () => ({ $elemMatch: elementCondition(random, depth - 1) }))]],
    [3, () => ['$elemMatch', elementCondition(random, depth - 1)]],
    [2, () => ['$size', integer(random, 0, 3)]],
    [2, () => ['$not', random.chance(0.1) ? regex(random) : operators(random, Math.max(0, depth - 1))]],
  ]);
}

/** Nothing is compared with MinKey and MaxKey by order: MongoDB answers from a sparse index, which knows nothing of missing fields. */
function comparison(random) {
  const name = random.pick(comparisons);
  if (random.mistake(0.01)) return [name, regex(random)];
  const bound = value(random, random.below(3));
  const isLimit = bound instanceof MinKey || bound instanceof MaxKey;
  return [isLimit ? '$eq' : name, bound];
}

function elementCondition(random, depth) {
  if (depth < 0) return { $eq: scalar(random) };
  return random.chance(0.5) ? operators(random, depth) : filter(random, depth);
}

/** Arguments that MongoDB refuses, now and then. */
function wrongOperator(random) {
  const argument = value(random, 1);
  return [
    random.pick(['$in', '$all', '$elemMatch', '$size', '$type', '$not', '$regex', '$options', '$foo', '$ne']),
    argument,
  ];
}

/** A sort whose last field makes the order complete. */
export function sort(random) {
  const wrong = random.mistake(0.01) ? [[path(random), scalar(random)]] : [];
  const fields = random.list(1, 2, () => [
    path(random, { positions: random.chance(0.05) }),
    direction(random),
  ]);
  return {
    ...Object.fromEntries([...fields, ...wrong].filter(([name]) => name !== '_id')),
    _id: direction(random),
  };
}

function direction(random) {
  return random.chance(0.5) ? new Int32(1) : new Int32(-1);
}

/** A projection of `find`. */
export function projection(random) {
  const include = random.chance(0.5);
  const paths = random.list(0, 3, () => path(random, { positions: random.chance(0.1) }));
  const kept = random.mistake(0.02) ? paths : distinct(paths);
  const entries = kept.map((name) => [name, projected(random, include)]);
  if (random.chance(0.3)) entries.unshift(['_id', random.pick([0, 1, false, true])]);
  return Object.fromEntries(entries);
}

function projected(random, include) {
  if (random.mistake(0.02)) {
    return random.pick([0, 1, {}, { $foo: 1 }, '$a', '$a.', { b: '$a' }, { $add: ['$a', 1] }]);
  }
  return random.weighted([
    [12, () => (include ? random.pick([1, true, new Int32(2)]) : random.pick([0, false]))],
    [0.5, () => ({ [random.pick(['a', 'b', 'c'])]: include ? 1 : 0 })],
    [1, () => (include ? computed(random) : 0)],
  ]);
}

function computed(random) {
  return random.weighted([
    [1, () => string(random)],
    [1, () => null],
    [2, () => `$${path(random, { positions: false })}`],
    [2, () => expression(random)],
    [1, () => ({ b: `$${path(random, { positions: false })}` })],
  ]);
}

/** The paths without those that are, or lead through, an earlier one. */
export function distinct(paths) {
  return paths.filter((each, index) =>
    paths
      .slice(0, index)
      .every((other) => !`${each}.`.startsWith(`${other}.`) && !`${other}.`.startsWith(`${each}.`)),
  );
}
