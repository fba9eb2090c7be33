import { Double, Long } from 'bson';
import { asLong, integerValue, plainNumber, toInteger } from '../bson/numbers.js';
import type { BsonNumber } from '../bson/types.js';

/**
 * Adds numbers up as MongoDB does: whole numbers exactly, and doubles with about twice a double's precision.
 * The sum has the widest type of its parts.
 */
export class NumberSum {
  private integers = 0n;
  private readonly doubles = new DoubleDouble();
  private widest: 'int' | 'long' | 'double' = 'int';

  /** @throws CommandError CommandNotSupported (115) for a decimal */
  add(value: BsonNumber): void {
    const number = plainNumber(value);
    if (number instanceof Double) {
      this.widest = 'double';
      this.doubles.add(number.value);
      return;
    }
    const whole = toInteger(number);
    this.integers += whole;
    if (!(number instanceof Long)) return this.doubles.add(Number(whole));
    if (this.widest === 'int') this.widest = 'long';
    this.doubles.addLong(whole);
  }

  value(): BsonNumber {
    if (this.widest === 'double' || asLong(this.integers) === undefined)
      return new Double(this.doubles.value());
    return integerValue(this.integers, this.widest === 'long');
  }

  /** The mean of `count` numbers. */
  average(count: number): BsonNumber {
    return new Double(this.doubles.value() / count);
  }
}

/**
 * A sum of doubles stored as two: the nearest double, and the remainder. The order of the steps affects the
 * last digit, and is the same as in MongoDB: Fast2Sum, then 2Sum (Boldo, Graillat, Muller: On the robustness
 * of the 2Sum and Fast2Sum algorithms, 2016).
 */
class DoubleDouble {
  private sum = 0;
  private rest = 0;
  /** The plain sum, the only one that handles NaN and the infinities. */
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

  /** In two parts, as one double may not hold all digits. A part of zero still carries over the remainder. */
  addLong(value: bigint): void {
    const high = (value / 2n ** 32n) * 2n ** 32n;
    this.add(Number(value - high));
    this.add(Number(high));
  }

  value(): number {
    return Number.isNaN(this.sum) ? this.plain : this.sum;
  }
}
