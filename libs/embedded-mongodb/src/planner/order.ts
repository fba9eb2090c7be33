import { CommandError } from '../errors.js';
import { sortKeys } from '../index/sort-order.js';
import type { SortField } from '../query/sort.js';
import type { StoredDocument } from '../catalog/collection.js';
import type { Scan } from './scan.js';

/** Maximum memory for the documents of one sort, as in MongoDB without disk use. Unit: bytes. */
const maxSortBytes = 100 * 1024 * 1024;

/** A document to sort, as it was when it was read. */
interface Sorted extends StoredDocument {
  /** Sortable bytes. */
  key: Buffer;
}

/**
 * Sorts the documents that a scan finds. With a limit, only that many documents are held at a time.
 *
 * @param keep Number of documents that are wanted from the sorted order.
 * @param most Maximum memory for the documents. Unit: bytes. @default 100 MiB
 * @throws CommandError QueryExceededMemoryLimitNoDiskUseAllowed (292) if they exceed it
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

/** Removes repetitions: a document that moved within the index during the scan may be found twice. */
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
