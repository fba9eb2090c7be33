import { datePart } from '../../aggregate/values/date-parts.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define(
  '$year',
  datePart((date) => date.getUTCFullYear()),
);
