import { Int32 } from 'bson';
import { expressions, unary } from '../../aggregate/operator.js';
import { required } from '../../aggregate/values/strings.js';

expressions.define(
  '$strLenBytes',
  unary((value) => new Int32(Buffer.byteLength(required('$strLenBytes', value, 34473)))),
);
