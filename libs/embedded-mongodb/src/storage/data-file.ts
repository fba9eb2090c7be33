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

/** The magic number with which LMDB marks a meta page. */
const magic = 0xbeefc0de;
const formatVersion = 2;

/** Offsets of LMDB's fields in a meta page, and in every page. Unit: bytes. */
const at = { flags: 18, magic: 24, version: 28, pageSize: 48, freeRoot: 88, mainRoot: 136, transaction: 152 };
const headBytes = 160;
const pageHeaderBytes = 20;
const metaFlag = 8;
const treeFlags = 3;
/** The root of a tree without pages. */
const noPage = 0xffff_ffff_ffff_ffffn;

/** Length of a record: the size of the file, and the current meta page. */
const recordBytes = 8 + headBytes;

/**
 * Checks the meta pages of LMDB's file before LMDB maps it into memory: LMDB trusts them, and if they are
 * wrong, it ends the process or finds no data. A missing or empty file is fine as long as nothing was ever
 * written: LMDB creates it.
 *
 * @param journal Path of the journal next to the file.
 * @throws Error with {@link damagedFilesCode} if the file is not LMDB's, was cut off, has another meta page
 * than the one that {@link recordDataFile} has recorded, or if its journal is missing
 */
export function checkDataFile(path: string, journal: string): void {
  const file = openIfThere(path);
  try {
    const size = file === undefined ? 0 : fstatSync(file).size;
    const journalSize = statSync(journal, { throwIfNoEntry: false })?.size;
    if (file !== undefined && size > 0) checkHeads(file, size, path);
    else if (journalSize) throw damaged(path, file === undefined ? 'it is missing' : 'it is empty');
    // The journal exists before the first commit, and the record is written after it.
    if (journalSize === undefined && existsSync(recordPath(path)))
      throw damaged(path, `the journal ${journal} is missing, which holds what was written last`);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Records the size and the meta page of the file after a commit, for the check at the next start. */
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

/** Path of the record next to a data file. */
export function recordPath(path: string): string {
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

/** The meta page of the last commit is still there, even if a later commit was interrupted. */
function checkRecord(heads: readonly Buffer[], size: number, path: string): void {
  const record = existsSync(recordPath(path)) ? readFileSync(recordPath(path)) : Buffer.alloc(0);
  if (record.length < recordBytes) return;
  if (BigInt(size) < record.readBigUInt64LE(0)) throw damaged(path, 'it has been cut off');
  const known = record.subarray(8);
  // After a power failure, the record may be older than the file, since every commit of the file is flushed.
  if (heads.every((head) => transactionOf(head) > transactionOf(known))) return;
  if (!heads.some((head) => head.equals(known)))
    throw damaged(path, 'its head is not the one that was written last');
}

/** LMDB writes two meta pages in turn; the one with the later transaction counts. */
function latest(heads: readonly Buffer[]): Buffer {
  return heads.reduce((a, b) => (transactionOf(b) > transactionOf(a) ? b : a));
}

function transactionOf(head: Buffer): bigint {
  return head.readBigUInt64LE(at.transaction);
}

/** The valid meta pages. */
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

/** The root page of a tree contains its own number and the kind of page. */
function checkRoot(file: number, page: bigint, pageSize: number, size: number, path: string): void {
  if (page === noPage) return;
  const position = page * BigInt(pageSize);
  if (position + BigInt(pageSize) > BigInt(size)) throw damaged(path, 'it has been cut off');
  const header = Buffer.alloc(pageHeaderBytes);
  readSync(file, header, 0, pageHeaderBytes, Number(position));
  if (header.readBigUInt64LE(0) !== page || (header.readUInt16LE(at.flags) & treeFlags) === 0)
    throw damaged(path, 'a page of it holds something else');
}

/** Error code for damaged or removed files: another attempt would fail in the same way. */
export const damagedFilesCode = 'EMBEDDED_MONGODB_DAMAGED_FILES';

function damaged(path: string, reason: string): Error {
  return damagedFiles(
    `The data file ${path} cannot be opened: ${reason}. Put a backup of its folder in place, or remove the folder to start without data.`,
  );
}

/** An error with {@link damagedFilesCode}. */
export function damagedFiles(message: string): Error {
  return Object.assign(new Error(message), { code: damagedFilesCode });
}
