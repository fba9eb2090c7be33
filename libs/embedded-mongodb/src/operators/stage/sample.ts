import { randomInt } from 'node:crypto';
import { Decimal128 } from 'bson';
import { allDocuments, type Stage, stages } from '../../pipeline/stage.js';
import { toDouble } from '../../bson/numbers.js';
import { type BsonDocument, type BsonValue, isDocument, isNumber } from '../../bson/types.js';
import { failureAt, unsupported } from '../../errors.js';

stages.define('$sample', { parse: sampleStage });

/** `$sample`: so many documents at random, each once. */
function sampleStage(argument: BsonValue): Stage {
  const size = sampleSize(argument);
  return allDocuments((documents) => {
    // The first steps of a Fisher-Yates shuffle.
    const count = Math.min(size, documents.length);
    for (let next = 0; next < count; next++) {
      const other = randomInt(next, documents.length);
      [documents[next], documents[other]] = [
        documents[other] as BsonDocument,
        documents[next] as BsonDocument,
      ];
    }
    return documents.slice(0, count);
  });
}

function sampleSize(argument: BsonValue): number {
  if (!isDocument(argument)) throw failureAt(28745, 'the $sample stage specification must be an object');
  const unknown = [...argument.keys()].find((name) => name !== 'size');
  if (unknown !== undefined) throw failureAt(28748, `unrecognized option to $sample: ${unknown}`);
  const size = argument.get('size');
  if (size === undefined) throw failureAt(28749, '$sample stage must specify a size');
  if (!isNumber(size)) throw failureAt(28746, 'size argument to $sample must be a number');
  if (size instanceof Decimal128) throw unsupported('A decimal as the size of $sample');
  const whole = Math.trunc(toDouble(size));
  if (whole < 0) throw failureAt(28747, 'size argument to $sample must not be negative');
  return whole || 0;
}
