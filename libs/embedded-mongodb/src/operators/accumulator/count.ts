import { Int32 } from 'bson';
import { Sum } from '../../aggregate/values/sum-accumulator.js';
import { isDocument } from '../../bson/types.js';
import { typeMismatch } from '../../errors.js';
import { accumulators } from '../../aggregate/accumulator.js';

accumulators.define('$count', {
  create: () => new Sum(),
  operand(argument) {
    if (isDocument(argument) && argument.size === 0) return new Int32(1);
    throw typeMismatch('$count takes no arguments, i.e. $count:{}');
  },
});
