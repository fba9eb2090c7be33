import { datePart } from '../../aggregate/values/date-parts.js';
import { expressions } from '../../aggregate/operator.js';

/** Days before each month of a common year. */
const daysBefore = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

expressions.define('$dayOfYear', datePart(dayOfYear));

function dayOfYear(date: Date): number {
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return (daysBefore[month] ?? 0) + date.getUTCDate() + Number(isLeap && month > 1);
}
