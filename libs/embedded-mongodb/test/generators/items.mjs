/** Small documents for the generators that know what is stored: items, their indexes, filters and sorts. */

/** Indexes of every kind. */
export const itemIndexes = [
  { key: { a: 1 }, name: 'a' },
  { key: { s: 1, n: -1 }, name: 's_n' },
  { key: { a: 1, n: 1 }, name: 'a_n' },
  { key: { tags: 1 }, name: 'tags' },
  { key: { n: -1 }, name: 'n' },
  { key: { u: 1 }, name: 'u', unique: true },
  { key: { n: 1 }, name: 'open_n', partialFilterExpression: { s: 'open' } },
  { key: { opt: 1 }, name: 'opt', sparse: true },
];

/** A new item. */
export function makeItem(random, id) {
  return prune({ _id: id, v: 0, u: id, ...fields(random, ['n', 'a', 's', 'tags', 'opt', 'text']) });
}

/** Values for some of an item's fields; undefined for one that is to be absent. */
export function fields(random, names) {
  return Object.fromEntries(names.map((name) => [name, values[name](random)]));
}

const values = {
  n: (random) => random.below(50),
  a: (random) => random.below(5),
  s: (random) => random.pick(['open', 'closed']),
  tags: (random) => (random.chance(0.2) ? random.below(5) : random.list(0, 3, () => random.below(5))),
  opt: (random) => (random.chance(0.5) ? undefined : random.below(5)),
  text: (random) => 'y'.repeat(random.below(100)),
};

/** Sorts of items, some of which an index delivers. */
export const itemSorts = [
  { n: 1 },
  { n: -1 },
  { a: 1, n: 1 },
  { s: 1, n: -1 },
  { v: 1 },
  { _id: 1 },
  { u: -1 },
  { text: 1 },
];

/** A filter, and the same as a function. */
export function itemQuery(random) {
  const [a, b] = [random.below(5), random.below(5)];
  const from = random.below(30);
  const has = (tags, wanted) => (Array.isArray(tags) ? tags.includes(wanted) : tags === wanted);
  return random.pick([
    { filter: {}, matches: () => true },
    { filter: { s: 'open' }, matches: ({ s }) => s === 'open' },
    { filter: { a }, matches: (each) => each.a === a },
    { filter: { a: { $in: [a, b] } }, matches: (each) => each.a === a || each.a === b },
    { filter: { n: { $gte: from, $lt: from + 20 } }, matches: ({ n }) => n >= from && n < from + 20 },
    { filter: { tags: a }, matches: ({ tags }) => has(tags, a) },
    { filter: { tags: { $gte: a } }, matches: ({ tags }) => [tags].flat().some((each) => each >= a) },
    { filter: { $or: [{ a }, { n: { $lt: from } }] }, matches: (each) => each.a === a || each.n < from },
    { filter: { s: 'open', n: { $gt: from } }, matches: ({ s, n }) => s === 'open' && n > from },
    { filter: { opt: { $exists: true } }, matches: ({ opt }) => opt !== undefined },
    { filter: { opt: { $gte: a } }, matches: ({ opt }) => opt >= a },
    { filter: { u: { $gte: from } }, matches: ({ u }) => u >= from },
  ]);
}

/** The order of two items in a sort. */
export function compareItems(one, other, sort) {
  for (const [name, direction] of Object.entries(sort)) {
    const [left, right] = [one[name], other[name]];
    if (left !== right) return (left < right ? -1 : 1) * direction;
  }
  return 0;
}

/** The fields that are there. */
export function prune(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
