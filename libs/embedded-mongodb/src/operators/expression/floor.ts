import { expressions, nullable, unary } from '../../aggregate/operator.js';
import { numeric } from '../../aggregate/values/numbers.js';
import { wholeNumber } from '../../aggregate/values/rounding.js';

expressions.define('$floor', nullable(unary((value) => wholeNumber(numeric('$floor', value), 'down'))));
