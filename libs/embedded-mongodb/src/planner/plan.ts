import { BSONRegExp } from 'bson';
import { describeDocument } from '../bson/describe.js';
import { valuesEqual } from '../bson/compare.js';
import { toDouble } from '../bson/numbers.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber } from '../bson/types.js';
import { CommandError } from '../errors.js';
import type { Index } from '../index/index.js';
import type { Filter } from '../query/filter.js';
import type { SortField } from '../query/sort.js';
import type { Collection } from '../catalog/collection.js';
import { encodeKey } from '../bson/key.js';
import { fitKey, uniqueKey } from '../storage/layout.js';
import type { Store } from '../storage/store.js';
import { type ByteInterval, filterBounds, isPoint, type PathBounds } from './bounds.js';
import { type IndexBounds, indexBounds } from './index-bounds.js';

/** How candidates are found. */
export type Access =
  | { kind: 'eof' }
  | { kind: 'collscan'; reverse: boolean }
  | { kind: 'idhack'; index: Index; key: Buffer }
  | { kind: 'or'; branches: IndexScan[] }
  | IndexScan;

/** A walk over parts of an index. */
export interface IndexScan {
  kind: 'ixscan';
  index: Index;
  bounds: IndexBounds;
  reverse: boolean;
  /**
   * If set, the ranges are merged by the part after this many components, so that together they are in order.
   */
  mergeFrom?: number;
}

/** How a query is answered. */
export interface Plan {
  access: Access;
  /** Whether the access returns documents in the requested order. */
  sorted: boolean;
  /** Whether every candidate matches, so that none has to be checked. */
  exact: boolean;
}

/** The parts of a query that determine the plan. */
export interface PlanRequest {
  given: BsonDocument;
  filter: Filter;
  sort: readonly SortField[];
  /** An index's name or key pattern, or `{ $natural: ±1 }`. */
  hint?: BsonValue;
  /** The index to walk, whether or not it contains all matches. */
  within?: Index;
}

/** Maximum number of ranges to merge into one order; beyond that, sorting is cheaper. */
const maxMerged = 64;

/** A scan of no more keys than this is better than one that returns the order. */
const smallScan = 500;

/** Decides how to answer a query: with the most selective index, and among equals the one that sorts. */
export function plan(store: Store, collection: Collection, request: PlanRequest): Plan {
  const { filter, hint, within } = request;
  if (within) return toPlan(candidate(within, filterBounds(filter), request), filter);
  const natural = isDocument(hint) ? hint.get('$natural') : undefined;
  if (natural !== undefined) return scanAll(request, isNumber(natural) && toDouble(natural) < 0);
  const byId = hint === undefined && idPoint(request.given);
  if (byId !== false && byId !== undefined) return idPlan(collection, byId);
  const bounds = filterBounds(filter);
  const indexes =
    hint === undefined ? usable(collection, request, bounds) : [hinted(collection, request, hint, bounds)];
  const candidates = indexes.map((index) => candidate(index, bounds, request));
  // Without either, the order is that of insertion, as in MongoDB, and reading the documents themselves is
  // the fastest.
  const worthwhile = candidates.filter(
    ({ scan, sorted }) =>
      hint !== undefined || scan.bounds.components.length > 0 || (sorted && request.sort.length > 0),
  );
  if (worthwhile.length > 0) {
    const best = worthwhile.reduce((a, b) => (better(store, b, a) ? b : a));
    if (hint !== undefined || best.scan.bounds.components.length > 0) return toPlan(best, filter);
    return orPlan(store, collection, request) ?? toPlan(best, filter);
  }
  return orPlan(store, collection, request) ?? scanAll(request, false);
}

interface Candidate {
  scan: IndexScan;
  sorted: boolean;
}

function toPlan({ scan, sorted }: Candidate, filter: Filter): Plan {
  const exact = filter.exact && scan.bounds.exact && !scan.index.multikey;
  return { access: scan, sorted, exact };
}

function scanAll({ sort, given }: PlanRequest, reverse: boolean): Plan {
  return { access: { kind: 'collscan', reverse }, sorted: sort.length === 0, exact: given.size === 0 };
}

/** The `_id` of a filter that has no other condition. */
function idPoint(given: BsonDocument): BsonValue | undefined {
  if (given.size !== 1) return undefined;
  let id = given.get('_id');
  if (isDocument(id) && id.size === 1 && id.has('$eq')) id = id.get('$eq');
  else if (isDocument(id) && [...id.keys()].some((name) => name.startsWith('$'))) return undefined;
  return id === undefined || id === null || Array.isArray(id) || id instanceof BSONRegExp ? undefined : id;
}

function idPlan(collection: Collection, id: BsonValue): Plan {
  const index = collection.index('_id_') as Index;
  const key = uniqueKey(index.table, fitKey(encodeKey(id)).bytes);
  return { access: { kind: 'idhack', index, key }, sorted: true, exact: true };
}

function candidate(index: Index, bounds: readonly PathBounds[], { sort }: PlanRequest): Candidate {
  const scanned = indexBounds(index, bounds);
  const order = sortOrder(index, scanned, sort);
  return {
    scan: {
      kind: 'ixscan',
      index,
      bounds: scanned,
      reverse: order?.reverse ?? false,
      mergeFrom: order?.mergeFrom,
    },
    sorted: order !== undefined,
  };
}

/** Whether `a` is preferable to `b`. */
function better(store: Store, a: Candidate, b: Candidate): boolean {
  const [pointsA, pointsB] = [rank(a), rank(b)];
  if (a.sorted !== b.sorted) {
    if (pointsA === pointsB) return a.sorted;
    const [narrow, wide] = pointsA > pointsB ? [a, b] : [b, a];
    const preferred = wide.sorted && !isSmall(store, narrow.scan) ? wide : narrow;
    return preferred === a;
  }
  if (pointsA !== pointsB) return pointsA > pointsB;
  return a.scan.bounds.ranges.length < b.scan.bounds.ranges.length;
}

/** Single values count most, then a range. A unique index with all its values given is the best. */
function rank({ scan: { index, bounds } }: Candidate): number {
  const { fields, unique } = index.definition;
  if (unique && bounds.points === fields.length) return Infinity;
  return bounds.points * 2 + Number(bounds.components.length > bounds.points);
}

function isSmall(store: Store, { bounds }: IndexScan): boolean {
  let left = smallScan;
  for (const range of bounds.ranges) {
    left -= store.count(range, left + 1);
    if (left < 0) return false;
  }
  return true;
}

/** The direction in which a scan returns a sort's order, if it does. */
function sortOrder(
  index: Index,
  { components, points }: IndexBounds,
  sort: readonly SortField[],
): { reverse: boolean; mergeFrom?: number } | undefined {
  if (sort.length === 0) return { reverse: false };
  if (index.traits.cut) return undefined;
  const { fields } = index.definition;
  const isArray = (i: number): boolean => index.traits.arrays[i] ?? false;
  const isConstant = (i: number): boolean =>
    i < points && !isArray(i) && components[i]?.length === 1 && isPoint(components[i]?.[0] as ByteInterval);
  let next = 0;
  let first: number | undefined;
  let reverse: boolean | undefined;
  for (const { path, descending } of sort) {
    const position = fields.findIndex((field) => field.path === path);
    if (position < 0) return undefined;
    if (isConstant(position)) continue;
    while (next < position && (first === undefined ? next < points : isConstant(next))) next++;
    if (next !== position || isArray(position)) return undefined;
    const against = fields[position]?.descending !== descending;
    if (reverse !== undefined && reverse !== against) return undefined;
    first ??= position;
    reverse = against;
    next++;
  }
  if (first === undefined) return { reverse: false };
  const merged = components.slice(0, first).reduce((count, intervals) => count * intervals.length, 1);
  if (merged > maxMerged) return undefined;
  return { reverse: reverse ?? false, mergeFrom: merged > 1 ? first : undefined };
}

/** Indexes that contain every document that the filter can match. */
function usable(collection: Collection, request: PlanRequest, bounds: readonly PathBounds[]): Index[] {
  return collection.indexes.filter((index) => {
    const { partial, sparse, fields } = index.definition;
    if (!index.ready) return false;
    if (partial && !implies(request, bounds, index)) return false;
    return (
      !sparse || fields.some(({ path }) => bounds.some((each) => each.path === path && !each.includesMissing))
    );
  });
}

/** Whether a partial index contains every document that the query matches. */
function implies({ given }: PlanRequest, bounds: readonly PathBounds[], { definition }: Index): boolean {
  const expression = definition.spec.get('partialFilterExpression') as BsonDocument;
  const asGiven = [...expression].every(([name, value]) => {
    const asked = given.get(name);
    return asked !== undefined && valuesEqual(asked, value);
  });
  if (asGiven) return true;
  const { partial } = definition;
  if (!partial?.exact) return false;
  return filterBounds(partial).every((demand) =>
    bounds.some(
      (each) =>
        each.path === demand.path &&
        (demand.includesMissing || !each.includesMissing) &&
        each.intervals.every((inner) => demand.intervals.some((outer) => contains(outer, inner))),
    ),
  );
}

function contains(outer: ByteInterval, inner: ByteInterval): boolean {
  const low = outer.low.compare(inner.low) || Number(inner.lowInclusive) - Number(outer.lowInclusive);
  const high = outer.high.compare(inner.high) || Number(outer.highInclusive) - Number(inner.highInclusive);
  return low <= 0 && high >= 0;
}

function hinted(
  collection: Collection,
  request: PlanRequest,
  hint: BsonValue,
  bounds: readonly PathBounds[],
): Index {
  const index = collection.indexes.find(
    ({ ready, name, definition }) =>
      ready &&
      (typeof hint === 'string' ? name === hint : isDocument(hint) && valuesEqual(definition.key, hint)),
  );
  if (!index) {
    throw plannerError(request, 'BadValue', 2, 'hint provided does not correspond to an existing index');
  }
  if (index.definition.partial && !implies(request, bounds, index)) {
    throw plannerError(
      request,
      'NoQueryExecutionPlans',
      291,
      'the hinted partial index does not hold all matching documents',
    );
  }
  return index;
}

function plannerError({ given }: PlanRequest, codeName: string, code: number, reason: string): CommandError {
  return new CommandError(
    code,
    codeName,
    `error processing query: ${describeDocument(given)} planner returned error :: caused by :: ${reason}`,
  );
}

/** If each branch of an `$or` has an index, scanning them is better than reading every document. */
function orPlan(store: Store, collection: Collection, request: PlanRequest): Plan | undefined {
  for (const branches of request.filter.alternatives) {
    const scans = branches.map((filter): IndexScan | undefined => {
      const branch: PlanRequest = { given: new Map(), filter, sort: [] };
      const bounds = filterBounds(filter);
      const candidates = usable(collection, branch, bounds)
        .map((index) => candidate(index, bounds, branch))
        .filter(({ scan }) => scan.bounds.components.length > 0);
      if (candidates.length === 0) return undefined;
      return candidates.reduce((a, b) => (better(store, b, a) ? b : a)).scan;
    });
    if (scans.every((scan) => scan !== undefined)) {
      return { access: { kind: 'or', branches: scans }, sorted: request.sort.length === 0, exact: false };
    }
  }
  return undefined;
}
