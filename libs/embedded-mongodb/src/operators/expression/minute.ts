import { datePart } from '../../aggregate/values/date-parts.js';
import { expressions } from '../registry.js';

expressions.define(
  '$minute',
  datePart((date) => date.getUTCMinutes()),
);
