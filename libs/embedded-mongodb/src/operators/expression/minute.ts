import { datePart } from '../../aggregate/values/date-parts.js';
import { expressions } from '../../aggregate/operator.js';

expressions.define(
  '$minute',
  datePart((date) => date.getUTCMinutes()),
);
