import { CommandError } from '../errors.js';
import { sortKeys } from '../index/sort-order.js';
import type { SortField } from '../query/sort.js';
import type { Collection } from '../catalog/collection.js';
import type { Match, Scan } from './execute.js';
import { Versions } from './versions.js';

/** Most memory that the keys of one sort may take. Unit: bytes. */
const maxSortBytes = 100 * 1024 * 1024;

/** What is remembered of a document while others are still to come: fetching it again is cheaper than holding on to all. */
interface Sorted {
  /** Sortable bytes. */
  key: Buffer;
  record: number;
  /** When it was read; see {@link Versions}. */
  place: number;
}

/**
 * Sorts what a scan finds, each document as it was when the scan found it. With a limit only that many documents are remembered
 * at a time.
 *
 * @param keep How many documents of the sorted order are wanted.
 * @throws CommandError QueryExceededMemoryLimitNoDiskUseAllowed (292) when the keys, or the documents that others change until
 *   the last one is given, outgrow the memory set aside for them.
 */
export function* sortMatches(
  collection: Collection,
  scan: Scan,
  fields: readonly SortField[],
  keep: number,
): Generator<Match | undefined> {
  const versions = new Versions(collection);
  try {
    let result: Sorted[] | undefined;
    for (const step of collect(scan, versions, keep, sortKeys(fields))) {
      if (step) result = step;
      else yield undefined;
    }
    versions.settle((result ?? []).map(({ record }) => record));
    for (const { record, place } of result ?? []) {
      const bytes = versions.take(record, place);
      yield bytes && { record, bytes };
    }
  } finally {
    versions.release();
  }
}

/** Yields `undefined` as a chance to pause, and the sorted entries last. */
function* collect(
  scan: Scan,
  versions: Versions,
  keep: number,
  keyOf: (bytes: Buffer) => Buffer,
): Generator<Sorted[] | undefined> {
  let entries: Sorted[] = [];
  let bytes = 0;
  // A document that moved within the index that finds it may have come twice.
  const inOrder = (): Sorted[] => {
    const seen = new Set<number>();
    return entries
      .sort((a, b) => a.key.compare(b.key))
      .filter(({ record }) => !seen.has(record) && seen.add(record))
      .slice(0, keep);
  };
  for (const match of scan.matches()) {
    if (match) {
      const key = keyOf(match.bytes);
      bytes += key.length + 64;
      entries.push({ key, record: match.record, place: versions.add() });
      // Trimming at twice the size keeps the cost per document constant.
      if (entries.length >= 2 * keep + 1_000) {
        entries = inOrder();
        bytes = entries.reduce((sum, entry) => sum + entry.key.length + 64, 0);
      }
      if (bytes > maxSortBytes) throw sortTooLarge();
    }
    yield undefined;
  }
  yield inOrder();
}

function sortTooLarge(): CommandError {
  return new CommandError(
    292,
    'QueryExceededMemoryLimitNoDiskUseAllowed',
    'Sort exceeded memory limit of 104857600 bytes; create an index that delivers the order, or narrow the filter down.',
  );
}
