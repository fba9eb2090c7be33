import { datePart } from '../../aggregate/values/date-parts.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define(
  '$month',
  datePart((date) => date.getUTCMonth() + 1),
);
