import { datePart } from '../../aggregate/values/date-parts.js';
import { expressions } from '../registry.js';

expressions.define(
  '$hour',
  datePart((date) => date.getUTCHours()),
);
