import { Int32, MinKey } from 'bson';
import { distinct, filter, operators } from './filters.mjs';
import { fieldNames, integer, number, object, path, scalar, string, value } from './values.mjs';

/** An update: operators, or a whole document. */
export function update(random) {
  if (random.chance(0.1)) return replacement(random);
  const names = new Set(random.list(1, 2, () => operatorName(random)));
  const taken = random.mistake(0.02) ? undefined : [];
  return Object.fromEntries([...names].map((name) => [name, fields(random, name, taken)]));
}

function operatorName(random) {
  if (random.mistake(0.01)) return random.pick(['$foo', 'a']);
  return random.weighted([
    [6, () => '$set'],
    [2, () => '$unset'],
    [4, () => '$inc'],
    [2, () => '$mul'],
    [2, () => '$min'],
    [2, () => '$max'],
    [2, () => '$rename'],
    [5, () => '$push'],
    [3, () => '$pull'],
    [1, () => '$pullAll'],
    [3, () => '$addToSet'],
    [2, () => '$pop'],
    [2, () => '$setOnInsert'],
  ]);
}

function replacement(random) {
  const id = random.mistake(0.2) ? { _id: integer(random, 0, 3) } : {};
  return { ...id, ...object(random, 2) };
}

/** @param taken Paths that are in use already; without it conflicts may occur. */
function fields(random, operator, taken) {
  if (random.mistake(0.01)) return scalar(random);
  const entries = random.list(random.chance(0.03) ? 0 : 1, 2, () => [
    updatePath(random, operator),
    argument(random, operator),
  ]);
  return Object.fromEntries(
    entries.filter(
      ([name, value]) => !taken || isFree(taken, operator === '$rename' ? [name, value] : [name]),
    ),
  );
}

/** Takes the paths, unless one of them is, or leads through, one that is taken. */
function isFree(taken, paths) {
  const names = paths.filter((each) => typeof each === 'string');
  if (distinct([...taken, ...names]).length < taken.length + names.length) return false;
  taken.push(...names);
  return true;
}

function updatePath(random, operator) {
  if (random.mistake(0.01)) return random.pick(['', 'a.', '.a', 'a..b', '$a', '_id.a', 'a.01', 'a.-1']);
  const name = path(random);
  return name === '_id' && (['$push', '$addToSet'].includes(operator) || !random.mistake(0.3)) ? 'a' : name;
}

function argument(random, operator) {
  if (random.mistake(0.02)) return value(random, 1);
  switch (operator) {
    case '$inc':
    case '$mul':
      return number(random);
    case '$rename':
      return random.mistake(0.02)
        ? scalar(random)
        : random.chance(0.1)
          ? path(random)
          : random.pick([...fieldNames, 'e', 'a.e', 'f.g']);
    case '$pop':
      return random.mistake(0.05) ? scalar(random) : random.pick([new Int32(1), new Int32(-1)]);
    case '$push':
      return random.chance(0.5) ? value(random, 1) : pushClauses(random);
    case '$addToSet':
      return random.chance(0.6) ? value(random, 1) : { $each: random.list(0, 3, () => value(random, 1)) };
    case '$pullAll':
      return random.list(0, 2, () => value(random, 1));
    case '$pull':
      return random.weighted([
        [4, () => value(random, 1)],
        [2, () => operators(random, 1)],
        [2, () => filter(random, 1)],
      ]);
    default:
      return value(random, 2);
  }
}

function pushClauses(random) {
  const clauses = { $each: random.list(0, 3, () => value(random, 1)) };
  if (random.chance(0.3)) clauses.$position = integer(random, -2, 3);
  if (random.chance(0.3)) clauses.$slice = integer(random, -3, 3);
  if (random.mistake(0.02)) clauses[random.pick(['$foo', '$slice', '$position'])] = scalar(random);
  return clauses;
}

/** A filter for an upsert, rich in equalities, and its update. */
export function upsert(random) {
  const paths = random.list(0, 3, () => path(random));
  const kept = random.mistake(0.05) ? paths : distinct(paths);
  const equalities = kept.map((name) => [name, random.chance(0.7) ? value(random, 1) : equality(random)]);
  const condition = Object.fromEntries(equalities.slice(0, 2));
  if (equalities.length > 2)
    condition[random.pick(['$and', '$or'])] = [Object.fromEntries(equalities.slice(2))];
  if (random.chance(0.1)) condition.$or = random.list(2, 3, () => ({ [path(random)]: value(random, 1) }));
  return { filter: condition, update: random.chance(0.2) ? object(random, 1) : update(random) };
}

/** Nothing is asked to be above MinKey, which finds several documents: the planner then takes one. */
function above(bound) {
  return bound instanceof MinKey ? { $eq: bound } : { $gt: bound };
}

function equality(random) {
  return random.pick([
    () => ({ $eq: value(random, 1) }),
    () => ({ $in: random.list(1, 2, () => value(random, 1)) }),
    () => ({ $all: random.list(1, 2, () => value(random, 1)) }),
    () => above(scalar(random)),
    () => ({ $in: [string(random)] }),
  ])();
}
