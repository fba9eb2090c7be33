import { CommandError } from '../errors.js';
import { sortKeys } from '../index/sort-order.js';
import type { SortField } from '../query/sort.js';
import type { StoredDocument } from '../catalog/collection.js';
import type { Scan } from './scan.js';

/** Most memory that the documents of one sort may take, as in MongoDB without the disk. Unit: bytes. */
const maxSortBytes = 100 * 1024 * 1024;

/** A document that is sorted, as it was when it was read. */
interface Sorted extends StoredDocument {
  /** Sortable bytes. */
  key: Buffer;
}

/**
 * Sorts what a scan finds. With a limit only that many documents are held at a time.
 *
 * @param keep How many documents of the sorted order are wanted.
 * @param most Memory for the documents. Unit: bytes. @default 100 MiB
 * @throws CommandError QueryExceededMemoryLimitNoDiskUseAllowed (292) when they outgrow it
 */
export function* sortMatches(
  scan: Scan,
  fields: readonly SortField[],
  keep: number,
  most = maxSortBytes,
): Generator<StoredDocument | undefined> {
  const keyOf = sortKeys(fields);
  let found: Sorted[] = [];
  let size = 0;
  for (const match of scan.matches()) {
    yield undefined;
    if (!match) continue;
    const sorted = { ...match, key: keyOf(match.bytes) };
    found.push(sorted);
    size += sizeOf(sorted);
    // Trimming at twice the size keeps the cost per document constant.
    if (found.length >= 2 * keep + 1_000) {
      found = inOrder(found, keep);
      size = found.reduce((sum, each) => sum + sizeOf(each), 0);
    }
    if (size > most) throw tooLarge(most);
  }
  yield* inOrder(found, keep);
}

/** A document that moved within the index that finds it may have come twice. */
function inOrder(found: Sorted[], keep: number): Sorted[] {
  const seen = new Set<number>();
  return found
    .sort((a, b) => a.key.compare(b.key))
    .filter(({ record }) => !seen.has(record) && seen.add(record))
    .slice(0, keep);
}

function sizeOf({ key, bytes }: Sorted): number {
  return key.length + bytes.length + 64;
}

function tooLarge(most: number): CommandError {
  return new CommandError(
    292,
    'QueryExceededMemoryLimitNoDiskUseAllowed',
    `Sort exceeded memory limit of ${most} bytes; create an index that delivers the order, or narrow the filter down.`,
  );
}
