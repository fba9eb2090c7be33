/** Approximate size of a value in memory, which depends mostly on its strings. Unit: bytes. */
export function bytesOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  return Object.values(value).reduce((sum: number, member) => sum + bytesOf(member), 16);
}

/** How fast a known size shrinks: the weight of a smaller new one. */
const FORGETTING = 0.2;

/** Follows the sizes it is given: up at once, down slowly. Unit: bytes. */
export function followSize(known: number | undefined, size: number): number {
  return known === undefined || size > known ? size : known + (size - known) * FORGETTING;
}
