import { Decimal128, Double, Long } from 'bson';
import { apart, variable } from './constants.mjs';
import { integer, number, path, scalar, string } from './values.mjs';

/** An expression of an aggregation. */
export function expression(random, depth = 2) {
  if (depth === 0) return leaf(random);
  const inner = () => expression(random, depth - 1);
  return random.weighted([
    [3, () => leaf(random)],
    [4, () => ({ [random.pick(['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'])]: apart([inner(), inner()]) })],
    [2, () => ({ [random.pick(['$and', '$or'])]: random.list(0, 3, inner).map(variable) })],
    [1, () => ({ $not: [variable(inner())] })],
    [
      2,
      () => ({
        $cond: random.chance(0.5)
          ? [variable(inner()), inner(), inner()]
          : { if: variable(inner()), then: inner(), else: inner() },
      }),
    ],
    [2, () => ({ $ifNull: [...random.list(1, 2, inner).map(variable), inner()] })],
    [3, () => ({ [random.pick(['$add', '$multiply'])]: apart(random.list(0, 3, () => numeric(random))) })],
    [2, () => ({ [random.pick(['$subtract', '$divide'])]: [numeric(random), divisor(random)] })],
    [1, () => ({ $concat: apart(random.list(0, 3, () => textual(random))) })],
    [1, () => ({ [random.pick(['$isArray', '$type'])]: variable(inner()) })],
    [1, () => ({ $size: arrayed(random) })],
    [1, () => ({ $arrayElemAt: [arrayed(random), integer(random, -2, 2)] })],
    [1, () => ({ $in: [inner(), arrayed(random)] })],
    [1, () => ({ x: inner(), y: inner() })],
    [1, () => random.list(0, 2, inner)],
  ]);
}

function leaf(random) {
  return random.weighted([
    [5, () => `$${path(random, { positions: false })}`],
    [3, () => ({ $literal: scalar(random) })],
    [1, () => random.pick(['$$ROOT', '$$ROOT.a', '$$CURRENT.b', '$$REMOVE'])],
  ]);
}

/** A number that may be divided by. */
function divisor(random) {
  return random.mistake(0.03) ? 0 : random.pick([1, 2, new Double(1.5), new Double(0.1), new Long(3)]);
}

const numberTypes = ['int', 'long', 'double'];

/** Mostly a number or null, since other types end the whole command in an error. */
function numeric(random) {
  const field = `$${path(random, { positions: false })}`;
  if (random.mistake(0.03)) return field;
  return { $cond: [{ $in: [{ $type: field }, numberTypes] }, field, plainNumber(random)] };
}

/** A number that may be reckoned with. */
function plainNumber(random) {
  const made = number(random);
  return made instanceof Decimal128 && !random.chance(0.05) ? 1 : made;
}

function textual(random) {
  const field = `$${path(random, { positions: false })}`;
  if (random.mistake(0.03)) return field;
  return { $cond: [{ $eq: [{ $type: field }, 'string'] }, field, { $literal: string(random) }] };
}

function arrayed(random) {
  const field = `$${path(random, { positions: false })}`;
  if (random.mistake(0.03)) return field;
  return { $cond: [{ $isArray: [field] }, field, { $literal: random.list(0, 2, () => scalar(random)) }] };
}
