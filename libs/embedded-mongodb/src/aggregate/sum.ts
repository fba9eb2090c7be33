import { Decimal128, Double, Int32, Long } from 'bson';
import {
  addDecimals,
  type Decimal,
  decimalFromBigInt,
  divideDecimals,
  exactDecimal,
  fromDecimal128,
  toDecimal128,
} from '../bson/decimal.js';
import { integerValue, toDecimal, truncate } from '../bson/numbers.js';
import type { BsonNumber } from '../bson/types.js';

/**
 * Adds numbers up the way MongoDB does. Whole numbers are added exactly, and together with the doubles in a sum of about twice
 * a double's precision; decimals are added on their own. The sum has the widest type of its parts.
 */
export class NumberSum {
  private integers = 0n;
  private readonly doubles = new DoubleDouble();
  private decimals = zero;
  private widest: 'int' | 'long' | 'double' | 'decimal' = 'int';

  add(value: BsonNumber): void {
    if (value instanceof Decimal128) {
      this.widest = 'decimal';
      this.decimals = rounded(addDecimals(this.decimals, toDecimal(value)));
    } else if (value instanceof Double) {
      if (this.widest !== 'decimal') this.widest = 'double';
      this.doubles.add(value.value);
    } else {
      if (value instanceof Long && this.widest === 'int') this.widest = 'long';
      const whole = truncate(value) ?? 0n;
      this.integers += whole;
      if (value instanceof Long) this.doubles.addLong(whole);
      else this.doubles.add(Number(whole));
    }
  }

  value(): BsonNumber {
    if (this.widest === 'decimal') return toDecimal128(this.decimal());
    const fits = BigInt.asIntN(64, this.integers) === this.integers;
    if (this.widest === 'double' || !fits) return new Double(this.doubles.value());
    return integerValue(this.integers, this.widest === 'long');
  }

  /** The mean of `count` numbers: a double, or a decimal where one was added. */
  average(count: number): BsonNumber {
    if (this.widest !== 'decimal') return new Double(this.doubles.value() / count);
    return toDecimal128(divideDecimals(rounded(this.decimal()), toDecimal(new Int32(count))));
  }

  private decimal(): Decimal {
    return addDecimals(this.decimals, this.doubles.decimal());
  }
}

const zero = decimalFromBigInt(0n);

/** A decimal cut to the digits that a Decimal128 holds, which every step of a sum is. */
function rounded(value: Decimal): Decimal {
  return fromDecimal128(toDecimal128(value));
}

/**
 * A sum of doubles kept as two: the nearest double, and what is missing from it. The order of the steps decides about the last
 * digit, and is MongoDB's: Fast2Sum, then 2Sum (Boldo, Graillat, Muller: On the robustness of the 2Sum and Fast2Sum
 * algorithms, 2016).
 */
class DoubleDouble {
  private sum = 0;
  private rest = 0;
  /** The plain sum, which alone knows about NaN and the infinities. */
  private plain = 0;

  add(value: number): void {
    this.plain += value;
    const term = value + this.rest;
    const rest = this.rest - (term - value);
    const sum = this.sum + term;
    const before = sum - term;
    this.rest = rest + (this.sum - before + (term - (sum - before)));
    this.sum = sum;
  }

  /** In two parts, as a double alone may not hold all digits; a part of zero still carries over what was missing. */
  addLong(value: bigint): void {
    const high = (value / 2n ** 32n) * 2n ** 32n;
    this.add(Number(value - high));
    this.add(Number(high));
  }

  value(): number {
    return Number.isNaN(this.sum) ? this.plain : this.sum;
  }

  /** Both parts to the full precision of a decimal. */
  decimal(): Decimal {
    if (!Number.isFinite(this.sum)) return exactDecimal(this.plain);
    return rounded(addDecimals(rounded(exactDecimal(this.sum)), rounded(exactDecimal(this.rest))));
  }
}
