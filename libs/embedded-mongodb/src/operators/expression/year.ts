import { datePart } from '../../aggregate/values/date-parts.js';
import { expressions } from '../registry.js';

expressions.define(
  '$year',
  datePart((date) => date.getUTCFullYear()),
);
