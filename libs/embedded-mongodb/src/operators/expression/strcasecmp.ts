import { Int32 } from 'bson';
import { binary, expressions } from '../../aggregate/operator.js';
import type { Result } from '../../aggregate/scope.js';
import { foldCase } from '../../aggregate/values/strings.js';
import { compareStrings } from '../../bson/compare.js';

expressions.define(
  '$strcasecmp',
  binary((a, b) => new Int32(Math.sign(compareStrings(upper(a), upper(b))))),
);

function upper(value: Result): string {
  return foldCase(value, (each) => each.toUpperCase());
}
