import { expressions, nullable, unary } from '../../aggregate/operator.js';
import { numeric } from '../../aggregate/values/numbers.js';
import { wholeNumber } from '../../aggregate/values/rounding.js';

expressions.define('$ceil', nullable(unary((value) => wholeNumber(numeric('$ceil', value), 'up'))));
