import { distinct, filter, projection, sort } from './filters.mjs';
import { pipeline, updatePipeline } from './pipelines.mjs';
import { update, upsert } from './updates.mjs';
import { document, fieldNames, path } from './values.mjs';

/** Collections that share a set of documents, each with indexes of its own. */
export const collectionCount = 6;

/** Indexes for one of the collections; the first one has none. */
export function indexes(random, collection) {
  if (collection === 0) return [];
  // Behind an array the embedded server refuses a number in the path, and with it every insert of such a document.
  return random.list(1, 3, () => {
    const paths = distinct(random.list(1, 2, () => path(random, { positions: false }))).filter(
      (each) => each !== '_id' && !/\d/.test(each),
    );
    const key = Object.fromEntries(
      (paths.length > 0 ? paths : ['a']).map((each) => [each, random.pick([1, -1])]),
    );
    return { key, name: `${JSON.stringify(key)}_${random.below(1000)}`, ...indexOptions(random) };
  });
}

function indexOptions(random) {
  return random.weighted([
    [5, () => ({})],
    [1, () => ({ unique: true })],
    [1, () => ({ sparse: true })],
    [1, () => ({ unique: true, sparse: true })],
    [
      1,
      () => ({
        partialFilterExpression: {
          [random.pick(fieldNames)]: random.pick([{ $exists: true }, { $gt: 0 }, 1]),
        },
      }),
    ],
  ]);
}

/** The documents of a round. */
export function documents(random) {
  return Array.from({ length: 10 }, (_, id) => document(random, id));
}

/** What is done to the documents; reads and writes in turn. */
export function makeCase(random) {
  random.startCase();
  const made = random.weighted([
    [8, () => find(random)],
    [4, () => aggregate(random)],
    [1, () => ({ kind: 'count', filter: filter(random), ...page(random) })],
    [1, () => distinctCase(random)],
    [5, () => updateCase(random)],
    [2, () => ({ kind: 'upsert', ...upsert(random), multi: false })],
    [1, () => findAndModify(random)],
    [0.5, () => ({ kind: 'delete', ...target(random) })],
    [0.5, () => ({ kind: 'insert', document: document(random, random.below(15)) })],
  ]);
  return { collection: random.below(collectionCount), ...made };
}

function find(random) {
  const made = { kind: 'find', filter: filter(random) };
  if (random.chance(0.4)) Object.assign(made, { sort: sort(random) }, page(random));
  if (random.chance(0.3)) made.projection = projection(random);
  return made;
}

/** Without indexes the documents come in their own order; with them a sort has to say which, as a pipeline may depend on it. */
function aggregate(random) {
  const stages = pipeline(random);
  if (random.chance(0.5)) return { kind: 'aggregate', collection: 0, pipeline: stages };
  return { kind: 'aggregate', pipeline: [{ $sort: { _id: 1 } }, ...stages] };
}

/** MongoDB's answer from an index holds other types for equal numbers, and null for what is missing. */
function distinctCase(random) {
  return {
    kind: 'distinct',
    collection: 0,
    key: path(random, { positions: false }),
    filter: filter(random, 1),
  };
}

function page(random) {
  return random.chance(0.3) ? { skip: random.below(3), limit: random.below(4) } : {};
}

/** One document by its `_id`, or all that match: which one of several comes first is the planner's affair. */
function target(random, mayBeMany = true) {
  const one = !mayBeMany || random.chance(0.6);
  return { filter: one ? { _id: random.below(10) } : filter(random, 1), multi: !one };
}

function updateCase(random) {
  // Over every document: MongoDB meets the errors of a pipeline's constants only where something matches.
  if (random.chance(0.15)) return { kind: 'update', filter: {}, multi: true, update: updatePipeline(random) };
  const change = update(random);
  const modifies = Object.keys(change)[0]?.startsWith('$');
  const aim = target(random, modifies || random.mistake(0.2));
  return { kind: 'update', ...aim, update: change };
}

function findAndModify(random) {
  const made = { kind: 'findAndModify', filter: filter(random, 1), sort: sort(random) };
  if (random.chance(0.2)) return { ...made, remove: true };
  made.update = update(random);
  made.new = random.chance(0.5);
  if (random.chance(0.3)) made.fields = projection(random);
  return made;
}
