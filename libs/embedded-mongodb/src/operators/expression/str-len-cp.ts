import { Int32 } from 'bson';
import { expressions, unary } from '../../aggregate/operator.js';
import { required } from '../../aggregate/values/strings.js';

expressions.define(
  '$strLenCP',
  unary((value) => new Int32([...required('$strLenCP', value, 34471)].length)),
);
