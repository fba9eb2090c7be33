import { BSONRegExp } from 'bson';
import { valuesEqual } from '../bson/compare.js';
import { type BsonDocument, type BsonValue, isDocument } from '../bson/types.js';
import { failure, unsupported } from '../errors.js';
import { isReference } from '../query/reference.js';
import { applySteps } from './apply.js';
import { checkId } from './id.js';
import { setTo } from './set-to.js';
import type { Update } from './update.js';

/**
 * The document that an upsert inserts if nothing matched: the equalities of the filter, then the update with
 * `$setOnInsert`, with `_id` first.
 *
 * @param createId Makes the `_id` if neither filter nor update has one.
 */
export function upsertDocument(
  filter: BsonDocument,
  update: Update,
  createId: () => BsonValue,
): BsonDocument {
  const seed = upsertSeed(filter, update.replacement);
  const { document } = update.apply(seed, true);
  const id = document.get('_id') ?? createId();
  checkId(id);
  return new Map([['_id', id], ...document]);
}

/** The values that the filter requires of a match; a replacement only uses the `_id` of them. */
function upsertSeed(filter: BsonDocument, idOnly: boolean): BsonDocument {
  const equalities: [string, BsonValue][] = [];
  collect(filter, equalities);
  const wanted = idOnly
    ? equalities.filter(([path]) => path === '_id' || path.startsWith('_id.'))
    : equalities;
  wanted.forEach(([path], index) => {
    for (const [other] of wanted.slice(0, index)) checkDistinct(other, path);
    if (idOnly && path !== '_id') {
      throw failure(
        'NotExactValueField',
        `field at '_id' must be exactly specified, field at sub-path '${path}'found`,
      );
    }
  });
  const steps = wanted.map(([path, value]) => ({ path, names: path.split('.'), modifier: setTo(value) }));
  return applySteps(steps, new Map(), { insert: true, now: new Date(0) }).document;
}

function collect(filter: BsonDocument, equalities: [string, BsonValue][]): void {
  for (const [key, value] of filter) {
    if (key === '$expr') {
      throw failure('QueryFeatureNotAllowed', '$expr is not allowed in the query predicate for an upsert');
    }
    if (key === '$and' || key === '$or') {
      const clauses = value as BsonDocument[];
      const into = key === '$and' || clauses.length === 1 ? equalities : [];
      clauses.forEach((clause) => collect(clause, into));
    } else if (!key.startsWith('$')) {
      equalities.push(...equalitiesOf(value).map((each): [string, BsonValue] => [key, each]));
    }
  }
}

function equalitiesOf(condition: BsonValue): BsonValue[] {
  if (condition instanceof BSONRegExp) return [];
  const first = isDocument(condition) ? condition.keys().next().value : undefined;
  if (!isDocument(condition) || !first?.startsWith('$') || isReference(condition)) return [condition];
  return [...condition].flatMap(([operator, argument]) => {
    if (operator === '$eq') return [argument];
    // MongoDB drops the rest of a filter that cannot match anything.
    if (operator === '$all' && Array.isArray(argument) && argument.length === 0)
      throw unsupported('An empty $all in an upsert');
    if (!Array.isArray(argument) || (operator !== '$all' && operator !== '$in')) return [];
    const values = operator === '$in' ? onlyOne(argument) : argument;
    return values.filter(
      (each) => !(each instanceof BSONRegExp || (isDocument(each) && each.has('$elemMatch'))),
    );
  });
}

/** A list with one value, even if that is given several times, or an empty list. */
function onlyOne(values: BsonValue[]): BsonValue[] {
  const [first] = values;
  return first !== undefined && values.every((each) => valuesEqual(each, first)) ? [first] : [];
}

function checkDistinct(a: string, b: string): void {
  if (a === b) {
    throw failure('NotSingleValueField', `cannot infer query fields to set, path '${a}' is matched twice`);
  }
  if (a.startsWith(`${b}.`) || b.startsWith(`${a}.`)) {
    throw failure(
      'NotSingleValueField',
      `cannot infer query fields to set, both paths '${a}' and '${b}' are matched`,
    );
  }
}
