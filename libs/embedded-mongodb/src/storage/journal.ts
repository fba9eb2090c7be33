import {
  closeSync,
  constants,
  existsSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  openSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { failure } from '../errors.js';
import { recordPath } from './data-file.js';
import {
  applyChanges,
  bootNumber,
  type ChangeHandler,
  changeHeaderLength,
  checksumOf,
  cutJournal,
  damagedJournal,
  decodeHead,
  encodeHead,
  flushFolder,
  type Frame,
  frameHeaderLength,
  headLength,
  idLength,
  isUnwritten,
  type JournalIdentity,
  type JournalState,
  readAt,
  readFrames,
  readIdentity,
  removed,
  storeIdentity,
  successor,
  writeAt,
} from './journal-file.js';

/** Maximum size of a buffer that is kept after its changes are written. Unit: bytes. */
const keptBuffer = 1 << 20;

/** How long written data may wait to be flushed to disk, as with MongoDB's journal. Unit: milliseconds. */
const flushIntervalMs = 100;

const dataSync = promisify(fdatasync);

/**
 * A write-ahead log of changes, in frames that are valid as a whole or not at all.
 *
 * Appended changes survive the end of the process, and flushed ones a crash of the machine. The file says how
 * much was acknowledged, and how much of that was flushed: what lies behind the first was cut short and may
 * go, what lies between them may be missing after a power failure, and everything else must be intact.
 */
export class Journal {
  private readonly file: number;
  /** The data file, which is of no use without a name, as the journal itself. */
  private readonly dataFile: number;
  /** Whether the file system counts the names of files; some always say none. */
  private readonly countsNames: boolean;
  private identity: JournalIdentity = { id: Buffer.alloc(idLength), generation: 0 };
  private end = headLength;
  private flushed = headLength;
  private checksum = 0;
  /** The next frame: room for its header, and the changes up to `filled`. */
  private frame = Buffer.allocUnsafe(1 << 16);
  private filled = frameHeaderLength;
  private flushTimer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;
  private nextFlush: Promise<void> | undefined;
  /** Whether to report what is cut off: every frame is from an earlier process. */
  private watchful = true;
  /** Path whose absence says that the data may be opened without the damaged part of the journal. */
  private readonly record: string;
  private strict: boolean;
  private readonly boot = bootNumber();

  /** @param volatile Never wait for the disk: the journal need not outlive the process. */
  constructor(
    private readonly path: string,
    dataFile: string,
    private readonly volatile: boolean,
  ) {
    this.record = recordPath(dataFile);
    this.strict = existsSync(this.record);
    this.file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.dataFile = openSync(dataFile, 'r');
    this.countsNames = !volatile && this.hasNames;
    if (!volatile) flushFolder(dirname(path));
  }

  /** Length of the changes that have not been appended. Unit: bytes. */
  get pending(): number {
    return this.filled - frameHeaderLength;
  }

  /** Length of the frames. Unit: bytes. */
  get length(): number {
    return this.end - headLength;
  }

  /** Whether the data file does not say yet which journal is its own: nothing may be appended. */
  get isNew(): boolean {
    return this.identity.generation === 0;
  }

  /** Tells the data file, with a checkpoint, which journal is its own after {@link Journal.restart}. */
  prepareRestart(state: JournalState): void {
    storeIdentity(state, successor(this.identity));
  }

  /** Removes all frames, after a checkpoint: the next one is the first of another generation. */
  restart(): void {
    this.empty(successor(this.identity));
  }

  /**
   * Passes on the changes of all frames in order, and continues after them. Frames from before the last
   * checkpoint are in the data file, and are removed.
   *
   * @throws Error with `damagedFilesCode` if acknowledged frames are damaged, or belong to another data file
   */
  replay(state: JournalState, apply: ChangeHandler): void {
    const identity = readIdentity(state, dirname(this.path));
    if (identity.generation === 0) return this.replayFormer(identity, apply);
    const { size } = fstatSync(this.file);
    const found = decodeHead(readAt(this.file, 0, headLength, size));
    const head = found?.id.equals(identity.id) && found.generation <= identity.generation ? found : undefined;
    const isOlder = head ? head.generation < identity.generation : this.isFormer(identity, size);
    if (isOlder) return this.empty(identity);
    if (!head && this.strict) throw damagedJournal(this.path, this.record, 0);
    this.begin(identity);
    const { written, flushed, boot } = head ?? { written: size, flushed: headLength, boot: 0 };
    this.take(readFrames(this.file, identity.id, this.end, Math.min(written, size), this.checksum), apply);
    const { end } = this;
    const mayBeTorn = end >= flushed && (boot === 0 || boot !== this.boot);
    const isTorn = mayBeTorn && end < written && isUnwritten(this.file, end, written, size);
    if (end < written && !isTorn && this.strict) throw damagedJournal(this.path, this.record, end);
    this.strict = true;
    this.flushed = Math.min(flushed, end);
    if (head && end === size && end === written) return;
    this.reportCut(end, size, written);
    ftruncateSync(this.file, end);
    this.writeHead();
  }

  /**
   * Replays the file of an earlier version. It has no head, and may have frames from before the last
   * checkpoint behind the valid ones.
   */
  private replayFormer(identity: JournalIdentity, apply: ChangeHandler): void {
    const { size } = fstatSync(this.file);
    const salt = identity.formerSalt;
    this.begin(identity);
    this.end = 0;
    if (salt) {
      this.take(readFrames(this.file, salt, 0, size, 0), apply);
      const rest = readAt(this.file, this.end, size - this.end, size);
      if (this.strict && rest?.includes(salt, 1)) throw damagedJournal(this.path, this.record, this.end);
      if (rest?.subarray(0, idLength).equals(salt)) this.reportCut(this.end, size, size);
    }
    if (this.end === 0) this.empty(identity);
  }

  /** Whether the file is still that of an earlier version, whose changes the data file has taken over. */
  private isFormer({ formerSalt }: JournalIdentity, size: number): boolean {
    return formerSalt !== undefined && readAt(this.file, 0, idLength, size)?.equals(formerSalt) === true;
  }

  private empty(identity: JournalIdentity): void {
    this.begin(identity);
    ftruncateSync(this.file, headLength);
    this.writeHead();
    // Otherwise a power failure could bring old frames back behind new ones.
    if (!this.volatile) fdatasyncSync(this.file);
  }

  private begin(identity: JournalIdentity): void {
    this.discard();
    this.identity = identity;
    this.end = headLength;
    this.flushed = headLength;
    this.checksum = identity.generation % 2 ** 32;
  }

  private take(frames: Iterable<Frame>, apply: ChangeHandler): void {
    for (const { changes, checksum, end } of frames) {
      applyChanges(changes, apply);
      this.checksum = checksum;
      this.end = end;
    }
  }

  /** Adds a change to the next frame. */
  add(key: Uint8Array, value: Uint8Array | undefined): void {
    const start = this.filled;
    this.filled += changeHeaderLength + key.length + (value?.length ?? 0);
    if (this.filled > this.frame.length) this.grow(start);
    this.frame.writeUInt16LE(key.length, start);
    this.frame.writeUInt32LE(value?.length ?? removed, start + 2);
    this.frame.set(key, start + changeHeaderLength);
    if (value) this.frame.set(value, start + changeHeaderLength + key.length);
  }

  /**
   * Writes the next frame, if it has changes.
   *
   * @throws CommandError OutOfDiskSpace (14031) if the file has been removed: what is written would be lost
   */
  append(): void {
    if (this.filled === frameHeaderLength) return;
    if (this.countsNames && !this.hasNames) throw removedFiles(dirname(this.path));
    const frame = this.frame.subarray(0, this.filled);
    this.discard();
    this.watchful = false;
    this.identity.id.copy(frame);
    frame.writeUInt32LE(frame.length - frameHeaderLength, idLength);
    const checksum = checksumOf(frame, this.checksum);
    frame.writeUInt32LE(checksum, idLength + 4);
    writeAt(this.file, frame, this.end);
    this.writeHead(this.end + frame.length);
    this.end += frame.length;
    this.checksum = checksum;
    if (!this.volatile) this.flushTimer ??= setTimeout(() => void this.flush(), flushIntervalMs);
  }

  /** Forgets the changes of the next frame. */
  discard(): void {
    this.filled = frameHeaderLength;
    if (this.frame.length > keptBuffer) this.frame = Buffer.allocUnsafe(1 << 16);
  }

  /**
   * Resolves when everything appended is on disk. Callers that wait at the same time share the next flush.
   */
  async flush(): Promise<void> {
    if (this.volatile) return;
    this.nextFlush ??= this.flushAfter(this.flushing);
    await this.nextFlush;
  }

  /** Closes the file, which a last flush may still be using. */
  async close(): Promise<void> {
    await this.flush();
    clearTimeout(this.flushTimer);
    closeSync(this.file);
    closeSync(this.dataFile);
  }

  private async flushAfter(running: Promise<void> | undefined): Promise<void> {
    await running;
    this.flushing = this.nextFlush;
    this.nextFlush = undefined;
    clearTimeout(this.flushTimer);
    this.flushTimer = undefined;
    const { end, identity } = this;
    await dataSync(this.file);
    // A checkpoint may have emptied the file in the meantime.
    if (identity !== this.identity) return;
    this.flushed = end;
    this.writeHead();
  }

  private writeHead(written = this.end): void {
    writeAt(this.file, encodeHead({ ...this.identity, written, flushed: this.flushed, boot: this.boot }), 0);
  }

  /** Whether the files have names: none once they have been removed. */
  private get hasNames(): boolean {
    return fstatSync(this.file).nlink > 0 && fstatSync(this.dataFile).nlink > 0;
  }

  private reportCut(end: number, size: number, written: number): void {
    if (this.watchful && Math.max(size, written) > end)
      process.emitWarning(cutJournal(this.path, end, size, written));
  }

  private grow(used: number): void {
    const larger = Buffer.allocUnsafe(Math.max(this.filled, 2 * this.frame.length));
    this.frame.copy(larger, 0, 0, used);
    this.frame = larger;
  }
}

/** As on a full disk, nothing can be stored until somebody does something about it. */
function removedFiles(folder: string): Error {
  return failure(
    'OutOfDiskSpace',
    `The files of the database in ${folder} have been removed. Nothing is stored any more: restart the process, or put a backup there and then restart it.`,
  );
}
