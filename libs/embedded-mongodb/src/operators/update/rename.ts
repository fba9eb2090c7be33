import { describeField } from '../../bson/describe.js';
import { type BsonDocument, type BsonValue, isDocument } from '../../bson/types.js';
import { badValue, failure, unsupported } from '../../errors.js';
import type { Step } from '../../update/apply.js';
import { keep, remove } from '../../update/modifier.js';
import { parseUpdatePath } from '../../update/path.js';
import { updates } from '../../update/operator.js';

updates.define('$rename', { step: parseRename });

/** `$rename`: first writes the value to its new place, then removes the old one. */
function parseRename(from: string, argument: BsonValue): Step {
  if (typeof argument !== 'string') {
    throw badValue(`The 'to' field for $rename must be a string: ${describeField(from, argument)}`);
  }
  const source = parseUpdatePath(from);
  const target = parseUpdatePath(argument);
  if (from === argument) {
    throw badValue(`The source and target field for $rename must differ: ${describeField(from, argument)}`);
  }
  if (from.startsWith(`${argument}.`) || argument.startsWith(`${from}.`)) {
    throw badValue(
      `The source and target field for $rename must not be on the same path: ${describeField(from, argument)}`,
    );
  }
  const removal: Step = {
    path: from,
    names: source,
    modifier: { missing: 'ignore', change: (current) => (current === undefined ? keep : remove) },
  };
  return {
    path: argument,
    names: target,
    after: removal,
    modifier: {
      missing: 'create',
      change(_current, { document }) {
        const value = valueAt(document, source, 'source');
        if (value === undefined) return keep;
        valueAt(document, target, 'destination');
        return value;
      },
    },
  };
}

/**
 * The value at a path. Rejects arrays on the way; a scalar on the way ends the source but not the
 * destination.
 */
function valueAt(
  document: BsonDocument,
  names: readonly string[],
  role: 'source' | 'destination',
): BsonValue | undefined {
  let value: BsonValue | undefined = document;
  for (const [index, name] of names.entries()) {
    if (Array.isArray(value)) throw unsupported('$rename into, out of or through an array');
    if (value === undefined) return undefined;
    if (!isDocument(value)) {
      if (role === 'destination') return undefined;
      const part = names[index - 1] ?? '';
      throw failure(
        'PathNotViable',
        `cannot use the part (${part} of ${names.join('.')}) to traverse the element ({${describeField(part, value)}})`,
      );
    }
    value = value.get(name);
  }
  return value;
}
