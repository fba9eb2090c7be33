import { datePart } from '../../aggregate/values/date-parts.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define(
  '$dayOfWeek',
  datePart((date) => date.getUTCDay() + 1),
);
