import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import { failure } from '../errors.js';

/** Receives a key that was set, or removed if the value is undefined. */
export type ChangeHandler = (key: Buffer, value: Buffer | undefined) => void;

/** Unit: bytes. */
export const saltLength = 8;
/**
 * A frame begins with the salt, the length of its changes, and the checksum of both, seeded with the previous
 * frame's checksum.
 */
const headerLength = saltLength + 8;
/** A change begins with the lengths of its key and its value. */
const changeHeaderLength = 6;
/** The length that means a removal. */
const removed = 0xffffffff;

/** Maximum size of a buffer that is kept after its changes are written. Unit: bytes. */
const keptBuffer = 1 << 20;

/** Maximum size of a file that keeps its disk space. Unit: bytes. */
const keptFile = 16 << 20;

/** How long written data may wait to be flushed to disk, as with MongoDB's journal. Unit: milliseconds. */
const flushIntervalMs = 100;

const dataSync = promisify(fdatasync);

/**
 * A write-ahead log of changes, in frames that are valid as a whole or not at all.
 *
 * Appended changes survive the end of the process, and flushed ones a crash of the machine. After every
 * {@link Journal.restart} the file is written from its start again; a new salt and a chain of checksums
 * distinguish valid frames from old ones, as in SQLite's write-ahead log
 * (https://www.sqlite.org/fileformat2.html#walformat).
 */
export class Journal {
  private readonly file: number;
  /** Whether its file system counts the names of files; some always say none. */
  private readonly countsNames: boolean;
  private salt: Buffer = Buffer.alloc(saltLength);
  private end = 0;
  private checksum = 0;
  /** The next frame: room for its header, and the changes up to `filled`. */
  private frame = Buffer.allocUnsafe(1 << 16);
  private filled = headerLength;
  private flushTimer: NodeJS.Timeout | undefined;
  private flushing: Promise<void> | undefined;
  private nextFlush: Promise<void> | undefined;
  /** Whether to report damage: not reported yet, and every frame is from an earlier process. */
  private watchful = true;

  /** @param volatile Never wait for the disk: the journal need not outlive the process. */
  constructor(
    private readonly path: string,
    private readonly volatile: boolean,
  ) {
    this.file = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    this.countsNames = !volatile && this.names > 0;
    if (!volatile) flushFolder(dirname(path));
  }

  /** Length of the changes that have not been appended. Unit: bytes. */
  get pending(): number {
    return this.filled - headerLength;
  }

  /** Length of the valid frames. Unit: bytes. */
  get length(): number {
    return this.end;
  }

  /** Passes on the changes of all valid frames in order, and continues after them. */
  replay(salt: Buffer, apply: ChangeHandler): void {
    this.begin(salt);
    for (let changes = this.readFrame(); changes; changes = this.readFrame()) {
      for (let at = 0; at < changes.length;) {
        const keyEnd = at + changeHeaderLength + changes.readUInt16LE(at);
        const length = changes.readUInt32LE(at + 2);
        const valueEnd = keyEnd + (length === removed ? 0 : length);
        apply(
          changes.subarray(at + changeHeaderLength, keyEnd),
          length === removed ? undefined : changes.subarray(keyEnd, valueEnd),
        );
        at = valueEnd;
      }
    }
  }

  /** Forgets all frames: the next one is the first, with another salt. */
  restart(salt: Buffer): void {
    if (this.end > keptFile) ftruncateSync(this.file, 0);
    this.begin(salt);
  }

  private begin(salt: Buffer): void {
    this.discard();
    this.salt = salt;
    this.end = 0;
    this.checksum = 0;
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
    if (this.filled === headerLength) return;
    if (this.countsNames && this.names === 0) throw removedFiles(dirname(this.path));
    const frame = this.frame.subarray(0, this.filled);
    this.discard();
    this.watchful = false;
    this.salt.copy(frame);
    frame.writeUInt32LE(frame.length - headerLength, saltLength);
    const checksum = checksumOf(frame, this.checksum);
    frame.writeUInt32LE(checksum, saltLength + 4);
    for (let written = 0; written < frame.length;) {
      written += writeSync(this.file, frame, written, frame.length - written, this.end + written);
    }
    this.end += frame.length;
    this.checksum = checksum;
    if (!this.volatile) this.flushTimer ??= setTimeout(() => void this.flush(), flushIntervalMs);
  }

  /** Forgets the changes of the next frame. */
  discard(): void {
    this.filled = headerLength;
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
  }

  private async flushAfter(running: Promise<void> | undefined): Promise<void> {
    await running;
    this.flushing = this.nextFlush;
    this.nextFlush = undefined;
    clearTimeout(this.flushTimer);
    this.flushTimer = undefined;
    await dataSync(this.file);
  }

  /** How many names the file has: none once it has been removed. */
  private get names(): number {
    return fstatSync(this.file).nlink;
  }

  private readFrame(): Buffer | undefined {
    const header = this.read(this.end, headerLength);
    if (!header?.subarray(0, saltLength).equals(this.salt)) return undefined;
    const length = headerLength + header.readUInt32LE(saltLength);
    const frame = this.read(this.end, length);
    if (!frame || checksumOf(frame, this.checksum) !== frame.readUInt32LE(saltLength + 4)) {
      if (this.watchful) this.reportDamage();
      return undefined;
    }
    this.end += length;
    this.checksum = frame.readUInt32LE(saltLength + 4);
    return frame.subarray(headerLength);
  }

  private reportDamage(): void {
    this.watchful = false;
    process.emitWarning(
      `The journal ${this.path} has a record at byte ${this.end} that is damaged or was cut short: it counts for nothing, and so does all behind it.`,
    );
  }

  /** Undefined if the file ends before. */
  private read(position: number, length: number): Buffer | undefined {
    if (position + length > fstatSync(this.file).size) return undefined;
    const bytes = Buffer.allocUnsafe(length);
    for (let done = 0; done < length;) {
      done += readSync(this.file, bytes, done, length - done, position + done);
    }
    return bytes;
  }

  private grow(used: number): void {
    const larger = Buffer.allocUnsafe(Math.max(this.filled, 2 * this.frame.length));
    this.frame.copy(larger, 0, 0, used);
    this.frame = larger;
  }
}

/** A salt that no earlier frame in the file can have. */
export function newSalt(): Buffer {
  return randomBytes(saltLength);
}

function checksumOf(frame: Buffer, before: number): number {
  return crc32(frame.subarray(headerLength), crc32(frame.subarray(0, saltLength + 4), before));
}

/** As on a full disk, nothing can be stored until somebody does something about it. */
function removedFiles(folder: string): Error {
  return failure(
    'OutOfDiskSpace',
    `The files of the database in ${folder} have been removed. Nothing is stored any more: restart the process, or put a backup there and then restart it.`,
  );
}

/** A new file survives a crash of the machine only if its folder is flushed, too. */
function flushFolder(path: string): void {
  const folder = openSync(path, 'r');
  fsyncSync(folder);
  closeSync(folder);
}
