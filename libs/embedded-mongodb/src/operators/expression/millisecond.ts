import { datePart } from '../../aggregate/values/date-parts.js';
import { expressions } from '../registry.js';

expressions.define(
  '$millisecond',
  datePart((date) => date.getUTCMilliseconds()),
);
