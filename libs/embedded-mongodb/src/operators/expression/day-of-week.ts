import { datePart } from '../../aggregate/values/date-parts.js';
import { expressions } from '../registry.js';

expressions.define(
  '$dayOfWeek',
  datePart((date) => date.getUTCDay() + 1),
);
