/**
 * Compares two decimal strings, such as "12.50" and "-3", exactly: negative, zero or positive, as a sort
 * expects.
 */
export function compareDecimals(left: string, right: string): number {
  const scale = Math.max(fractionOf(left).length, fractionOf(right).length);
  const difference = unscaled(left, scale) - unscaled(right, scale);
  return difference < 0n ? -1 : difference > 0n ? 1 : 0;
}

function fractionOf(text: string): string {
  return text.split('.')[1] ?? '';
}

function unscaled(text: string, scale: number): bigint {
  const digits = `${text.split('.')[0] ?? ''}${fractionOf(text).padEnd(scale, '0')}`;
  return BigInt(digits);
}
