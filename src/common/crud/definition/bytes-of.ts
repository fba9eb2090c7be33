/** About what a value takes in memory: what counts are the texts. Unit: bytes. */
export function bytesOf(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  return Object.values(value).reduce((sum: number, member) => sum + bytesOf(member), 16);
}

/** What is thought of a size forgets larger ones: the share of a new one that is smaller. */
const FORGETTING = 0.2;

/** A size that follows those that it is told: up at once, down slowly. Unit: bytes. */
export function followSize(known: number | undefined, size: number): number {
  return known === undefined || size > known ? size : known + (size - known) * FORGETTING;
}
