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
 * Adds numbers up without losing what rounding would lose on the way: whole numbers are added exactly, doubles with a
 * second double that carries the error. The sum has the widest type of its parts.
 */
export class NumberSum {
  private integers = 0n;
  private doubles = new DoubleDouble();
  private decimals: Decimal | undefined;
  private widest: 'int' | 'long' | 'double' | 'decimal' = 'int';

  add(value: BsonNumber): void {
    if (value instanceof Decimal128) {
      this.widest = 'decimal';
      this.decimals = rounded(addDecimals(this.decimals ?? zero, toDecimal(value)));
    } else if (value instanceof Double) {
      if (this.widest !== 'decimal') this.widest = 'double';
      this.doubles.add(value.value);
    } else {
      if (value instanceof Long && this.widest === 'int') this.widest = 'long';
      this.integers += truncate(value) ?? 0n;
    }
  }

  value(): BsonNumber {
    if (this.widest === 'decimal') return toDecimal128(this.decimal());
    if (this.widest === 'double') return new Double(this.double());
    const fits = BigInt.asIntN(64, this.integers) === this.integers;
    return fits ? integerValue(this.integers, this.widest === 'long') : new Double(Number(this.integers));
  }

  /** The mean of `count` numbers: a double, or a decimal where one was added. */
  average(count: number): BsonNumber {
    if (this.widest === 'decimal') {
      return toDecimal128(divideDecimals(this.decimal(), toDecimal(new Int32(count))));
    }
    return new Double(this.double() / count);
  }

  private double(): number {
    const all = this.doubles.copy();
    all.addInteger(this.integers);
    return all.value();
  }

  private decimal(): Decimal {
    const whole = rounded(addDecimals(this.decimals ?? zero, decimalFromBigInt(this.integers)));
    return this.doubles.used ? rounded(addDecimals(whole, this.doubles.decimal())) : whole;
  }
}

const zero = decimalFromBigInt(0n);

/** A decimal cut to the digits that a Decimal128 holds, which every step of a sum is. */
function rounded(value: Decimal): Decimal {
  return fromDecimal128(toDecimal128(value));
}

/** A sum of doubles with about twice their precision. */
class DoubleDouble {
  used = false;
  private sum = 0;
  private error = 0;
  /** The plain sum, which alone knows about NaN and the infinities. */
  private plain = 0;

  add(value: number): void {
    this.used = true;
    this.plain += value;
    const sum = this.sum + value;
    const shift = sum - this.sum;
    this.error += this.sum - (sum - shift) + (value - shift);
    this.sum = sum;
  }

  addInteger(value: bigint): void {
    const high = Number(value);
    if (high !== 0) this.add(high);
    const low = Number(value - BigInt(high));
    if (low !== 0) this.add(low);
  }

  value(): number {
    return Number.isFinite(this.plain) && Number.isFinite(this.error) ? this.sum + this.error : this.plain;
  }

  /** Both halves to the full precision of a decimal. */
  decimal(): Decimal {
    if (!Number.isFinite(this.plain)) return exactDecimal(this.plain);
    return rounded(addDecimals(rounded(exactDecimal(this.sum)), rounded(exactDecimal(this.error))));
  }

  copy(): DoubleDouble {
    return Object.assign(new DoubleDouble(), this);
  }
}
