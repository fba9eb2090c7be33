import { Int32 } from 'bson';
import { distinct } from '../differential/filters.mjs';
import { path, scalar } from '../differential/values.mjs';

/** An index over random paths; the first numbers make sure that each kind is there. */
export function anyIndex(random, number) {
  const paths = distinct(random.list(1, 3, () => path(random, { positions: false }))).filter(
    (each) => each !== '_id',
  );
  const kinds = [{}, {}, { sparse: true }, { unique: true }, { unique: true, sparse: true }];
  const options =
    number < kinds.length
      ? kinds[number]
      : random.chance(0.7)
        ? { partialFilterExpression: partial(random) }
        : {};
  if (options.partialFilterExpression && random.chance(0.2)) options.unique = true;
  const key = Object.fromEntries(
    (paths.length > 0 ? paths : ['a']).map((each) => [each, random.pick([1, -1])]),
  );
  return { key, name: `index_${number}`, ...options };
}

/** A filter that a partial index may have, and that queries imply now and then. */
function partial(random) {
  const name = path(random, { positions: false });
  const condition = random.weighted([
    [2, () => ({ $exists: true })],
    [3, () => scalar(random)],
    [3, () => ({ [random.pick(['$gt', '$gte', '$lt', '$lte'])]: scalar(random) })],
    [1, () => ({ $in: random.list(1, 3, () => scalar(random)) })],
    [1, () => ({ $type: random.pick(['string', 'int', 'number', 'array', 'null']) })],
    [1, () => null],
    [1, () => ({ $gt: new Int32(0), $lt: new Int32(3) })],
  ]);
  return { [name]: condition };
}
