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
      this.doubles.addInteger(whole);
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

/** A sum of doubles kept as two: the nearest double, and what is missing from it. */
class DoubleDouble {
  private sum = 0;
  private rest = 0;
  /** The plain sum, which alone knows about NaN and the infinities. */
  private plain = 0;

  add(value: number): void {
    this.plain += value;
    const sum = this.sum + value;
    const shift = sum - this.sum;
    const lost = this.sum - (sum - shift) + (value - shift);
    const rest = this.rest + lost;
    this.sum = sum + rest;
    this.rest = rest - (this.sum - sum);
  }

  /** In two parts, as a double alone may not hold all digits. */
  addInteger(value: bigint): void {
    const high = (value / 2n ** 32n) * 2n ** 32n;
    this.add(Number(value - high));
    if (high !== 0n) this.add(Number(high));
  }

  value(): number {
    return this.isFinite() ? this.sum + this.rest : this.plain;
  }

  /** Both parts to the full precision of a decimal. */
  decimal(): Decimal {
    if (!this.isFinite()) return exactDecimal(this.plain);
    return rounded(addDecimals(rounded(exactDecimal(this.sum)), rounded(exactDecimal(this.rest))));
  }

  private isFinite(): boolean {
    return Number.isFinite(this.sum) && Number.isFinite(this.rest);
  }
}
