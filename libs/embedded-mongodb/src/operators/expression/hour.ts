import { datePart } from '../../aggregate/values/date-parts.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define(
  '$hour',
  datePart((date) => date.getUTCHours()),
);
