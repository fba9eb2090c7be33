import { valuesEqual } from '../bson/compare.js';
import { describeField } from '../bson/describe.js';
import { type BsonDocument, type BsonValue, isDocument, typeName } from '../bson/types.js';
import { failure, unsupported } from '../errors.js';
import { addToSet, pop, pull, pullAll, push } from './array-modifier.js';
import {
  arithmetic,
  currentDate,
  extreme,
  identical,
  type Modifier,
  setOnInsert,
  setTo,
  unset,
} from './modifier.js';
import { applySteps, orderSteps, reservePath, type Step } from './apply.js';
import { checkIdNames, dollarPrefixed } from './id.js';
import { parseUpdatePath } from './path.js';
import { parseRename } from './rename.js';

/** What an update made of a document. */
export interface Updated {
  document: BsonDocument;
  /** Whether anything differs from before; when not, nothing needs to be written. */
  changed: boolean;
}

/** A compiled update. */
export interface Update {
  /** Whether it replaces the whole document; `multi: true` is then refused by the caller. */
  readonly replacement: boolean;
  /**
   * @param document Left as it is.
   * @param insert Whether an upsert is about to insert the document. @default false
   */
  apply(document: BsonDocument, insert?: boolean): Updated;
}

export interface UpdateOptions {
  /** What `$currentDate` sets. */
  now: Date;
  /** `arrayFilters` of the command, refused when not empty. */
  arrayFilters?: BsonValue;
}

type Parser = (path: string, argument: BsonValue) => Modifier;

const parsers: Record<string, Parser> = {
  $set: (_path, argument) => setTo(argument),
  $setOnInsert: (_path, argument) => setOnInsert(argument),
  $unset: () => unset(),
  $inc: (path, argument) => arithmetic('$inc', path, argument),
  $mul: (path, argument) => arithmetic('$mul', path, argument),
  $min: (_path, argument) => extreme('$min', argument),
  $max: (_path, argument) => extreme('$max', argument),
  $currentDate: (_path, argument) => currentDate(argument),
  $push: (_path, argument) => push(argument),
  $addToSet: (_path, argument) => addToSet(argument),
  $pop: pop,
  $pull: (_path, argument) => pull(argument),
  $pullAll: (_path, argument) => pullAll(argument),
};

/**
 * @param update Operators (`{ $set: … }`) or a whole document to put in place; a pipeline is refused.
 * @see https://www.mongodb.com/docs/manual/reference/operator/update/
 */
export function compileUpdate(update: BsonValue, options: UpdateOptions): Update {
  if (Array.isArray(update)) throw unsupported('A pipeline as an update');
  if (!isDocument(update))
    throw failure('FailedToParse', 'Update argument must be either an object or an array');
  if (Array.isArray(options.arrayFilters) && options.arrayFilters.length > 0)
    throw unsupported('arrayFilters');
  return update.keys().next().value?.startsWith('$') ? modification(update, options) : replacement(update);
}

function replacement(update: BsonDocument): Update {
  const reserved = [...update.keys()].find((name) => name.startsWith('$'));
  return {
    replacement: true,
    apply(document, insert = false) {
      if (reserved !== undefined && !insert) throw dollarPrefixed(reserved, reserved);
      const id = document.get('_id');
      const ownId = update.get('_id');
      if (id !== undefined && ownId !== undefined && !valuesEqual(ownId, id)) {
        throw failure(
          'ImmutableField',
          `After applying the update, the (immutable) field '_id' was found to have been altered to ${describeField('_id', ownId)}`,
        );
      }
      const newId = ownId ?? id;
      if (isDocument(newId)) checkIdNames(newId);
      const after: BsonDocument = newId === undefined ? update : new Map([['_id', newId], ...update]);
      return { document: after, changed: !identical(document, after) };
    },
  };
}

function modification(update: BsonDocument, options: UpdateOptions): Update {
  const steps: Step[] = [];
  const reserved = new Map<string, readonly string[]>();
  for (const [operator, fields] of update) {
    if (operator === '$bit') throw unsupported('The operator $bit');
    if (!Object.hasOwn(parsers, operator) && operator !== '$rename') {
      throw failure(
        'FailedToParse',
        `Unknown modifier: ${operator}. Expected a valid update modifier or pipeline-style update specified as an array`,
      );
    }
    if (!isDocument(fields)) {
      throw failure(
        'FailedToParse',
        `Modifiers operate on fields but we found type ${typeName(fields)} instead. For example: {$mod: {<field>: ...}} not {${describeField(operator, fields)}}`,
      );
    }
    for (const [path, argument] of fields) steps.push(parseStep(operator, path, argument, reserved));
  }
  const ordered = orderSteps(steps);
  return {
    replacement: false,
    apply: (document, insert = false) => applySteps(ordered, document, { insert, now: options.now }),
  };
}

function parseStep(
  operator: string,
  path: string,
  argument: BsonValue,
  reserved: Map<string, readonly string[]>,
): Step {
  const names = parseUpdatePath(path);
  reservePath(reserved, names);
  const parse = parsers[operator];
  if (parse) return { path, names, modifier: parse(path, argument) };
  const rename = parseRename(path, argument);
  reservePath(reserved, rename.names);
  return rename;
}
