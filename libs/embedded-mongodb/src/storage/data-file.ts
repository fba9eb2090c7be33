import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
} from 'node:fs';

/** LMDB's own marks of a page of its head. */
const magic = 0xbeefc0de;
const formatVersion = 2;

/** Where LMDB keeps what: offsets in a head's page, and in every page. Unit: bytes. */
const at = { flags: 18, magic: 24, version: 28, pageSize: 48, freeRoot: 88, mainRoot: 136, transaction: 152 };
const headBytes = 160;
const pageHeaderBytes = 20;
const metaFlag = 8;
const treeFlags = 3;
/** What LMDB writes for the root of a tree without pages. */
const noPage = 0xffff_ffff_ffff_ffffn;

/** Length of a record: the size of the file, and the head that counted. */
const recordBytes = 8 + headBytes;

/**
 * Checks the head of LMDB's file before LMDB maps it into memory, since it believes what it reads there and ends the process, or
 * finds nothing, where that is wrong. A file that is missing or empty is fine as long as nothing was ever written: LMDB makes it.
 *
 * @param journal Path of the journal beside the file.
 * @throws Error with {@link damagedFilesCode} where the file is not one of LMDB's, was cut off, has another head than
 *   {@link recordDataFile} has noted, or its journal is missing
 */
export function checkDataFile(path: string, journal: string): void {
  const file = openIfThere(path);
  try {
    const size = file === undefined ? 0 : fstatSync(file).size;
    const journalSize = statSync(journal, { throwIfNoEntry: false })?.size;
    if (file !== undefined && size > 0) checkHeads(file, size, path);
    else if (journalSize) throw damaged(path, file === undefined ? 'it is missing' : 'it is empty');
    // A commit comes after the journal was made, and its record after the commit.
    if (journalSize === undefined && existsSync(recordPath(path)))
      throw damaged(path, `the journal ${journal} is missing, which holds what was written last`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Notes the size and the head of the file after a commit, for the check of the next start. */
export function recordDataFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    const record = Buffer.alloc(recordBytes);
    record.writeBigUInt64LE(BigInt(fstatSync(file).size));
    latest(readHeads(file)).copy(record, 8);
    writeFileSync(recordPath(path), record, { mode: 0o600 });
  } finally {
    closeSync(file);
  }
}

function recordPath(path: string): string {
  return `${path}-head`;
}

function openIfThere(path: string): number | undefined {
  return existsSync(path) ? openSync(path, 'r') : undefined;
}

function checkHeads(file: number, size: number, path: string): void {
  const heads = readHeads(file);
  if (heads.length < 2) throw damaged(path, 'its head is not that of a data file');
  checkRecord(heads, size, path);
  const head = latest(heads);
  for (const root of [at.freeRoot, at.mainRoot])
    checkRoot(file, head.readBigUInt64LE(root), head.readUInt32LE(at.pageSize), size, path);
}

/** The head of the last commit is still there, also when a later commit was cut short. */
function checkRecord(heads: readonly Buffer[], size: number, path: string): void {
  const record = existsSync(recordPath(path)) ? readFileSync(recordPath(path)) : Buffer.alloc(0);
  if (record.length < recordBytes) return;
  if (BigInt(size) < record.readBigUInt64LE(0)) throw damaged(path, 'it has been cut off');
  const known = record.subarray(8);
  // After a power failure the record may be older than the file, of which every commit is flushed.
  if (heads.every((head) => transactionOf(head) > transactionOf(known))) return;
  if (!heads.some((head) => head.equals(known)))
    throw damaged(path, 'its head is not the one that was written last');
}

/** LMDB writes two heads in turn; the one of the later transaction counts. */
function latest(heads: readonly Buffer[]): Buffer {
  return heads.reduce((a, b) => (transactionOf(b) > transactionOf(a) ? b : a));
}

function transactionOf(head: Buffer): bigint {
  return head.readBigUInt64LE(at.transaction);
}

/** The heads that are ones of LMDB's. */
function readHeads(file: number): Buffer[] {
  const first = readHead(file, 0);
  const pageSize = first?.readUInt32LE(at.pageSize) ?? 0;
  const isPageSize = pageSize >= 512 && pageSize <= 65_536 && (pageSize & (pageSize - 1)) === 0;
  return [first, isPageSize ? readHead(file, pageSize) : undefined].filter((head) => head !== undefined);
}

function readHead(file: number, position: number): Buffer | undefined {
  const head = Buffer.alloc(headBytes);
  if (readSync(file, head, 0, headBytes, position) < headBytes) return undefined;
  const isHead =
    head.readUInt16LE(at.flags) === metaFlag &&
    head.readUInt32LE(at.magic) === magic &&
    head.readUInt32LE(at.version) === formatVersion;
  return isHead ? head : undefined;
}

/** The page on which a tree begins carries its own number, and says what kind of page it is. */
function checkRoot(file: number, page: bigint, pageSize: number, size: number, path: string): void {
  if (page === noPage) return;
  const position = page * BigInt(pageSize);
  if (position + BigInt(pageSize) > BigInt(size)) throw damaged(path, 'it has been cut off');
  const header = Buffer.alloc(pageHeaderBytes);
  readSync(file, header, 0, pageHeaderBytes, Number(position));
  if (header.readBigUInt64LE(0) !== page || (header.readUInt16LE(at.flags) & treeFlags) === 0)
    throw damaged(path, 'a page of it holds something else');
}

/** Code of the error for files that were damaged or removed: another attempt ends in the same way. */
export const damagedFilesCode = 'EMBEDDED_MONGODB_DAMAGED_FILES';

function damaged(path: string, reason: string): Error {
  return Object.assign(
    new Error(
      `The data file ${path} cannot be opened: ${reason}. Put a backup of its folder in place, or remove the folder to start without data.`,
    ),
    { code: damagedFilesCode },
  );
}
