import { describeField } from '../bson/describe.js';
import { type BsonDocument, type BsonValue, isDocument, typeName } from '../bson/types.js';
import { failure, unsupported } from '../errors.js';
import { type UpdateOperator, updates } from './operator.js';
import { applySteps, orderSteps, reservePath, type Step } from './apply.js';
import { parseUpdatePath } from './path.js';
import { pipelineUpdate } from './pipeline-update.js';
import { replacementUpdate } from './replacement.js';

/** The result of updating a document. */
export interface Updated {
  document: BsonDocument;
  /** Whether anything has changed; if not, nothing needs to be written. */
  changed: boolean;
}

/** A compiled update. */
export interface Update {
  /** Whether it replaces the whole document; the caller then rejects `multi: true`. */
  readonly replacement: boolean;
  /**
   * @param document Not changed.
   * @param insert Whether an upsert is about to insert the document. @default false
   */
  apply(document: BsonDocument, insert?: boolean): Updated;
}

export interface UpdateOptions {
  /** The value that `$currentDate` sets. */
  now: Date;
  /** `arrayFilters` of the command, rejected unless empty. */
  arrayFilters?: BsonValue;
}

/**
 * @param update Operators (`{ $set: … }`), a whole document as a replacement, or a pipeline.
 * @see https://www.mongodb.com/docs/manual/reference/operator/update/
 */
export function compileUpdate(update: BsonValue, options: UpdateOptions): Update {
  const filters = Array.isArray(options.arrayFilters) ? options.arrayFilters : [];
  if (Array.isArray(update)) {
    if (filters.length > 0)
      throw failure('FailedToParse', 'arrayFilters may not be specified for pipeline-style updates');
    return pipelineUpdate(update);
  }
  if (!isDocument(update))
    throw failure('FailedToParse', 'Update argument must be either an object or an array');
  if (filters.length > 0) throw unsupported('arrayFilters');
  return update.keys().next().value?.startsWith('$')
    ? modification(update, options)
    : replacementUpdate(update);
}

function modification(update: BsonDocument, options: UpdateOptions): Update {
  const steps: Step[] = [];
  const reserved = new Map<string, readonly string[]>();
  for (const [operator, fields] of update) {
    const definition = updates.find(operator);
    if (!isDocument(fields)) {
      throw failure(
        'FailedToParse',
        `Modifiers operate on fields but we found type ${typeName(fields)} instead. For example: {$mod: {<field>: ...}} not {${describeField(operator, fields)}}`,
      );
    }
    for (const [path, argument] of fields) steps.push(parseStep(definition, path, argument, reserved));
  }
  const ordered = orderSteps(steps);
  return {
    replacement: false,
    apply: (document, insert = false) => applySteps(ordered, document, { insert, now: options.now }),
  };
}

function parseStep(
  operator: UpdateOperator,
  path: string,
  argument: BsonValue,
  reserved: Map<string, readonly string[]>,
): Step {
  const names = parseUpdatePath(path);
  if ('modifier' in operator) {
    const modifier = operator.modifier(path, argument);
    reservePath(reserved, names);
    return { path, names, modifier };
  }
  reservePath(reserved, names);
  const step = operator.step(path, argument);
  reservePath(reserved, step.names);
  return step;
}
