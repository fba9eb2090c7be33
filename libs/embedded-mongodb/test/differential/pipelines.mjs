import { Int32 } from 'bson';
import { expression } from './expressions.mjs';
import { distinct, filter } from './filters.mjs';
import { fieldNames, integer, path, scalar } from './values.mjs';

/** An aggregation pipeline. */
export function pipeline(random) {
  const stages = stageList(random, { facet: true });
  if (random.mistake(0.02)) stages.push(wrongStage(random));
  return stages;
}

/** A pipeline that turns one document into one; it has one stage, since several may rearrange fields. */
export function updatePipeline(random) {
  if (random.mistake(0.05)) return [wrongStage(random)];
  return [
    random.weighted([
      [1, () => ({ $project: { [field(random)]: random.pick([0, 1]) } })],
      [4, () => ({ [random.pick(['$addFields', '$set'])]: computedFields(random) })],
      [1, () => ({ $unset: field(random) })],
      [1, () => ({ $replaceWith: random.pick(['$a', { a: computed(random) }]) })],
      [1, () => ({ $replaceWith: setField(random) })],
    ]),
  ];
}

function setField(random) {
  return { $setField: { field: field(random), input: '$$ROOT', value: computed(random) } };
}

/** Stages that leave no order to chance: a sort needs an `_id` that is unique, a group a sort behind it. */
function stageList(random, { facet }) {
  const stages = [];
  let unique = true;
  for (const made of random.list(1, 3, () => stage(random))) {
    const [name] = Object.keys(made);
    if ((name === '$sort' && !unique) || (name === '$facet' && !facet)) continue;
    stages.push(made);
    if (name === '$group') stages.push({ $sort: { _id: 1 } });
    // Where a mistake shows depends on what MongoDB moves in front of it.
    if (random.mistaken) break;
    const touchesId =
      /"_id/.test(JSON.stringify(made[name])) || /"_id/.test(JSON.stringify(Object.values(made)));
    if (name === '$group') unique = true;
    else if (
      ['$unwind', '$facet', '$count'].includes(name) ||
      (['$project', '$set', '$addFields', '$unset'].includes(name) && touchesId)
    )
      unique = false;
  }
  return stages;
}

function stage(random) {
  return random.weighted([
    [4, () => ({ $match: matchFilter(random) })],
    [2, () => ({ $sort: { [random.pick(fieldNames)]: random.pick([1, -1]), _id: 1 } })],
    [1, () => ({ $skip: integer(random, 0, 3) })],
    [1, () => ({ $limit: integer(random, 1, 4) })],
    [3, () => ({ $project: projection(random) })],
    [3, () => ({ [random.pick(['$addFields', '$set'])]: computedFields(random) })],
    [
      1,
      () => ({
        $unset: random.chance(0.5) ? field(random) : distinct(random.list(1, 2, () => field(random))),
      }),
    ],
    [4, () => group(random)],
    [1, () => ({ $count: 'n' })],
    [2, () => ({ $unwind: unwind(random) })],
    [0.5, () => ({ $facet: { x: stageList(random, { facet: false }), y: [{ $count: 'n' }] } })],
  ]);
}

/** MongoDB fails to move a match in front of a stage when it holds `$all` inside `$elemMatch`. */
function matchFilter(random) {
  for (;;) {
    const made = filter(random, 1);
    if (!/\$elemMatch.*\$all/.test(JSON.stringify(made))) return made;
  }
}

function field(random) {
  return path(random, { positions: false });
}

function projection(random) {
  const paths = distinct(random.list(1, 3, () => field(random)));
  if (random.chance(0.4)) return Object.fromEntries(paths.map((name) => [name, random.pick([0, false])]));
  const entries = paths.map((name) => [name, random.chance(0.5) ? random.pick([1, true]) : computed(random)]);
  if (random.chance(0.3) && !paths.some((name) => name.startsWith('_id'))) entries.push(['_id', 0]);
  return Object.fromEntries(entries);
}

function computedFields(random) {
  return Object.fromEntries(
    distinct(random.list(1, 2, () => field(random))).map((name) => [name, computed(random)]),
  );
}

function computed(random) {
  const made = expression(random);
  return typeof made === 'object' && Object.keys(made).length === 0 ? '$a' : made;
}

function group(random) {
  const names = ['p', 'q'].slice(0, random.below(3));
  const accumulators = names.map((name) => [name, accumulator(random)]);
  return {
    $group: {
      _id: random.chance(0.2) ? null : { k: expression(random, 1) },
      ...Object.fromEntries(accumulators),
    },
  };
}

function accumulator(random) {
  return random.weighted([
    [3, () => ({ $sum: random.chance(0.4) ? 1 : `$${field(random)}` })],
    [2, () => ({ $avg: `$${field(random)}` })],
    [
      3,
      () => ({
        [random.pick(['$min', '$max', '$first', '$last', '$push'])]: random.chance(0.7)
          ? `$${field(random)}`
          : expression(random, 1),
      }),
    ],
    [1, () => ({ $count: {} })],
  ]);
}

function unwind(random) {
  const name = `$${field(random)}`;
  if (random.chance(0.5)) return name;
  const options = { path: name };
  if (random.chance(0.5)) options.preserveNullAndEmptyArrays = random.chance(0.5);
  return options;
}

function wrongStage(random) {
  return random.pick([
    {},
    { $foo: 1 },
    { $match: {}, $sort: { a: 1 } },
    {
      [random.pick([
        '$match',
        '$sort',
        '$skip',
        '$limit',
        '$project',
        '$addFields',
        '$unset',
        '$group',
        '$count',
        '$unwind',
        '$facet',
      ])]: scalar(random),
    },
    { $project: {} },
    { $project: { a: 1, b: 0 } },
    { $addFields: { a: 1, 'a.b': 1 } },
    { $addFields: { a: { $foo: 1 } } },
    { $addFields: { a: { $eq: [1] } } },
    { $addFields: { a: { $cond: [1, 2] } } },
    { $addFields: { a: { $cond: { if: 1, then: 2 } } } },
    { $addFields: { a: '$' } },
    { $addFields: { a: '$$x' } },
    { $addFields: { a: { $divide: ['$_id', 0] } } },
    { $group: { a: { $sum: 1 } } },
    { $group: { _id: 1, a: 1 } },
    { $group: { _id: 1, a: { $foo: 1 } } },
    { $group: { _id: 1, a: { $sum: [1, 2] } } },
    { $limit: new Int32(0) },
    { $skip: new Int32(-1) },
    { $unwind: random.pick(fieldNames) },
    { $facet: { a: [{ $facet: { a: [] } }] } },
    { $facet: { a: [{ $foo: 1 }] } },
    { $count: random.pick(['', '$a', 'a.b']) },
  ]);
}
