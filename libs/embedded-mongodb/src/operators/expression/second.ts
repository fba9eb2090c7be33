import { datePart } from '../../aggregate/values/date-parts.js';
import { expressions } from '../registry.js';

expressions.define(
  '$second',
  datePart((date) => date.getUTCSeconds()),
);
