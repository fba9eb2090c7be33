import type { Decimal128 } from 'bson';

/** A number as `digits × 10^exponent`. */
export interface Digits {
  digits: bigint;
  exponent: number;
}

/** The digits of a Decimal128; undefined for NaN and the infinities. */
export function digitsOf(value: Decimal128): Digits | undefined {
  const [mantissa = '', power = '0'] = value.toString().split('E');
  const [whole = '', fraction = ''] = mantissa.split('.');
  if (!/^-?\d+$/.test(whole)) return undefined;
  return { digits: BigInt(whole + fraction), exponent: Number(power) - fraction.length };
}
