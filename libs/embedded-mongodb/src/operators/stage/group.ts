import { type Accumulator, accumulators } from '../../aggregate/accumulator.js';
import { compileExpression } from '../../aggregate/expression.js';
import { groupKey } from '../../aggregate/group-key.js';
import type { Expression } from '../../aggregate/scope.js';
import { type Stage, stages } from '../../pipeline/stage.js';
import { type BsonDocument, type BsonValue, isDocument } from '../../bson/types.js';
import { failureAt } from '../../errors.js';

stages.define('$group', { parse: groupStage });

interface Field {
  name: string;
  operand: Expression;
  create: () => Accumulator;
}

/** `$group`: one document per distinct `_id`, in the order of first occurrence. */
function groupStage(argument: BsonValue): Stage {
  if (!isDocument(argument)) throw failureAt(15947, `a group's fields must be specified in an object`);
  const id = argument.get('_id');
  const fields = [...argument]
    .filter(([name]) => name !== '_id')
    .map(([name, value]) => parseField(name, value));
  if (id === undefined) throw failureAt(15955, 'a group specification must include an _id');
  const idOf = compileId(id);
  return function* group(documents) {
    const groups = new Map<string, { id: BsonValue; values: Accumulator[] }>();
    for (const document of documents) {
      if (!document) {
        yield undefined;
        continue;
      }
      const value = idOf(document);
      const key = groupKey(value);
      let found = groups.get(key);
      if (!found) groups.set(key, (found = { id: value, values: fields.map(({ create }) => create()) }));
      for (const [index, accumulator] of found.values.entries()) {
        if (!accumulator.settled) accumulator.add(fields[index]?.operand(document));
      }
    }
    for (const { id: value, values } of groups.values()) {
      const document: BsonDocument = new Map([['_id', value]]);
      fields.forEach(({ name }, index) => document.set(name, values[index]?.result() ?? null));
      yield document;
    }
  };
}

/**
 * A missing value counts as null, even as the only field of the `_id`; among several fields it is left out.
 */
function compileId(id: BsonValue): (document: BsonDocument) => BsonValue {
  const [entry, ...others] = isDocument(id) ? id : [];
  if (!entry || others.length > 0 || entry[0].startsWith('$')) {
    const whole = compileExpression(id);
    return (document) => whole(document) ?? null;
  }
  const only = compileExpression(new Map([entry]));
  return (document) => {
    const value = only(document);
    return isDocument(value) && value.size > 0 ? value : new Map([[entry[0], null]]);
  };
}

function parseField(name: string, value: BsonValue): Field {
  if (name.includes('.')) throw failureAt(40235, `The field name '${name}' cannot contain '.'`);
  if (name.startsWith('$')) throw failureAt(40236, `The field name '${name}' cannot be an operator name`);
  if (!isDocument(value)) throw failureAt(40234, `The field '${name}' must be an accumulator object`);
  if (value.size !== 1) throw failureAt(40238, `The field '${name}' must specify one accumulator`);
  const [[operator, operand]] = value as unknown as [[string, BsonValue]];
  const { create, operand: read } = accumulators.find(operator);
  if (!read && Array.isArray(operand))
    throw failureAt(40237, `The ${operator} accumulator is a unary operator`);
  return { name, create, operand: compileExpression(read ? read(operand) : operand) };
}
