import { accumulators } from '../../aggregate/accumulator.js';

/** Accumulators of MongoDB that this server lacks. */
accumulators.refuse(
  '$accumulator',
  '$bottom',
  '$bottomN',
  '$firstN',
  '$lastN',
  '$maxN',
  '$median',
  '$mergeObjects',
  '$minN',
  '$percentile',
  '$stdDevPop',
  '$stdDevSamp',
  '$top',
  '$topN',
);
