import { datePart } from '../../aggregate/values/date-parts.js';
import { expressions } from '../registry.js';

expressions.define(
  '$dayOfMonth',
  datePart((date) => date.getUTCDate()),
);
