import { datePart } from '../../aggregate/values/date-parts.js';
import { expressions } from '../registry.js';

expressions.define(
  '$month',
  datePart((date) => date.getUTCMonth() + 1),
);
