import mongoose from 'mongoose';

const { Decimal128, Long } = mongoose.mongo;

type Fields = Record<string, unknown>;

/** Sorts records as a list in an order does, without a database: nulls lowest, `_id` in the direction of the last key. */
export function sortedBy<T extends Fields>(records: readonly T[], order: string): T[] {
  const keys = order.split(',');
  const all = [...keys, keys.at(-1)?.startsWith('-') ? '-_id' : '_id'];
  return records.toSorted((a, b) => {
    for (const key of all) {
      const [path, sign] = key.startsWith('-') ? [key.slice(1), -1] : [key, 1];
      const difference = compare(valueAt(a, path), valueAt(b, path));
      if (difference !== 0) return sign * difference;
    }
    return 0;
  });
}

function valueAt(record: Fields, path: string): unknown {
  return (
    path.split('.').reduce<unknown>((at, name) => (at as Fields | null | undefined)?.[name], record) ?? null
  );
}

function compare(a: unknown, b: unknown): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  const [left, right] = [comparable(a), comparable(b)];
  if (Buffer.isBuffer(left) && Buffer.isBuffer(right)) return Buffer.compare(left, right);
  return left < right ? -1 : Number(left > right);
}

/** Something that JavaScript orders as the database orders the value. */
function comparable(value: unknown): Buffer | bigint | number {
  // The order of UTF-8 is that of code points.
  if (typeof value === 'string') return Buffer.from(value);
  if (value instanceof mongoose.mongo.ObjectId) return Buffer.from(value.id);
  if (value instanceof Long) return value.toBigInt();
  if (value instanceof Decimal128) return Number(value.toString());
  return Number(value);
}
