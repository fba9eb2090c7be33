import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, readFileSync, readSync, writeSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { Database } from 'lmdb';
import { damagedFiles } from './data-file.js';

/**
 * The layout of the journal's file: a head, which says how much was acknowledged, and frames of changes. A
 * frame begins with the journal's identifier, the length of its changes, and the checksum of all of it,
 * seeded with the previous frame's checksum.
 */

/** Receives a key that was set, or removed if the value is undefined. */
export type ChangeHandler = (key: Buffer, value: Buffer | undefined) => void;

/** Unit: bytes. */
export const idLength = 8;
export const headLength = idLength + 26;
export const frameHeaderLength = idLength + 8;
/** A change begins with the lengths of its key and its value. */
export const changeHeaderLength = 6;
/** The length that means a removal. */
export const removed = 0xffffffff;

/** Unit in which a disk writes, or has not written. Unit: bytes. */
const sector = 512;

/** The journal that belongs to a data file at one of its checkpoints. */
export interface JournalIdentity {
  /** Random, and the same as long as the data exist. */
  id: Buffer;
  /** Number of checkpoints: a file with a lower one has nothing that the data file lacks. */
  generation: number;
  /** What the file of an earlier version began with, whose changes the first checkpoint has taken over. */
  formerSalt?: Buffer;
}

/** The beginning of the file, written anew with every frame. */
export interface JournalHead extends JournalIdentity {
  /** Where the last acknowledged frame ends. Unit: bytes. */
  written: number;
  /** How much of it was on disk at least: a power failure cannot have torn it. Unit: bytes. */
  flushed: number;
  /** {@link bootNumber} when it was written. */
  boot: number;
}

/**
 * Another number after each start of the machine; 0 if the system does not tell. While it is the same, no
 * power failure can have torn the file.
 */
export function bootNumber(): number {
  try {
    return crc32(readFileSync('/proc/sys/kernel/random/boot_id'));
  } catch {
    return 0;
  }
}

export function encodeHead({ id, generation, written, flushed, boot }: JournalHead): Buffer {
  const head = Buffer.alloc(headLength);
  id.copy(head);
  head.writeUIntLE(generation, idLength, 6);
  head.writeUIntLE(written, idLength + 6, 6);
  head.writeUIntLE(flushed, idLength + 12, 6);
  head.writeUInt32LE(boot, idLength + 18);
  head.writeUInt32LE(crc32(head.subarray(0, -4)), idLength + 22);
  return head;
}

/** What a data file says about its journal. */
export type JournalState = Pick<Database<Buffer, Buffer>, 'get' | 'putSync' | 'removeSync'>;

/** Key of the identity in the data file, and of the salt that the frames of earlier versions begin with. */
const identityKey = Buffer.from('journal');
const saltKey = Buffer.from('salt');

/** The identity in the data file begins with the number of its format. */
const identityLength = 2 + idLength + 6;
const identityFormat = 2;

/** Stores an identity, inside a transaction. */
export function storeIdentity(state: JournalState, { id, generation, formerSalt }: JournalIdentity): void {
  const bytes = Buffer.alloc(identityLength);
  bytes.writeUInt16LE(identityFormat);
  id.copy(bytes, 2);
  bytes.writeUIntLE(generation, 2 + idLength, 6);
  state.putSync(identityKey, formerSalt ? Buffer.concat([bytes, formerSalt]) : bytes);
  state.removeSync(saltKey);
}

/**
 * The identity that a data file has stored, or one of generation 0 if it is new or of an earlier version.
 *
 * @throws Error with `damagedFilesCode` if a later version of this server has written it
 */
export function readIdentity(state: JournalState, folder: string): JournalIdentity {
  const bytes = state.get(identityKey);
  if (!bytes) return { id: randomBytes(idLength), generation: 0, formerSalt: state.get(saltKey) };
  const format = bytes.readUInt16LE();
  if (format !== identityFormat) {
    throw damagedFiles(
      `The data in ${folder} were written by a later version of nestjs-mongo-crud-embedded (format ${format}, this one knows ${identityFormat}). Start that version, or put a backup in place.`,
    );
  }
  return {
    id: bytes.subarray(2, 2 + idLength),
    generation: bytes.readUIntLE(2 + idLength, 6),
    formerSalt: bytes.length > identityLength ? bytes.subarray(identityLength) : undefined,
  };
}

/** The identity after the next checkpoint. */
export function successor({ id, generation, formerSalt }: JournalIdentity): JournalIdentity {
  // Only the first checkpoint takes over the journal of an earlier version.
  return { id, generation: generation + 1, formerSalt: generation === 0 ? formerSalt : undefined };
}

/** Undefined if the file begins with something else. */
export function decodeHead(head: Buffer | undefined): JournalHead | undefined {
  if (!head || head.readUInt32LE(idLength + 22) !== crc32(head.subarray(0, -4))) return undefined;
  return {
    id: head.subarray(0, idLength),
    generation: head.readUIntLE(idLength, 6),
    written: head.readUIntLE(idLength + 6, 6),
    flushed: head.readUIntLE(idLength + 12, 6),
    boot: head.readUInt32LE(idLength + 18),
  };
}

/** A valid frame. */
export interface Frame {
  changes: Buffer;
  checksum: number;
  /** Position of the next one. */
  end: number;
}

/** The frames between two positions, up to the first that is not valid. */
export function* readFrames(
  file: number,
  id: Buffer,
  from: number,
  to: number,
  checksum: number,
): Generator<Frame> {
  for (;;) {
    const header = readAt(file, from, frameHeaderLength, to);
    if (!header?.subarray(0, idLength).equals(id)) return;
    const changesLength = header.readUInt32LE(idLength);
    const frame = readAt(file, from, frameHeaderLength + changesLength, to);
    if (!frame || checksumOf(frame, checksum) !== frame.readUInt32LE(idLength + 4)) return;
    checksum = frame.readUInt32LE(idLength + 4);
    from += frame.length;
    yield { changes: frame.subarray(frameHeaderLength), checksum, end: from };
  }
}

/** The checksum of a frame, except for the field that holds it. */
export function checksumOf(frame: Buffer, before: number): number {
  return crc32(frame.subarray(frameHeaderLength), crc32(frame.subarray(0, idLength + 4), before));
}

export function applyChanges(changes: Buffer, apply: ChangeHandler): void {
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

/**
 * Whether what is missing between two positions looks as after a power failure: the end of the file is
 * absent, or sectors were never written. The file is emptied before it is written again, so that those are
 * zero.
 */
export function isUnwritten(file: number, from: number, to: number, size: number): boolean {
  const rest = readAt(file, from, to - from, size);
  if (!rest || rest.subarray(0, idLength).every((byte) => byte === 0)) return true;
  const unwritten = Buffer.alloc(sector);
  for (let at = (sector - (from % sector)) % sector; at + sector <= rest.length; at += sector) {
    if (rest.subarray(at, at + sector).equals(unwritten)) return true;
  }
  return false;
}

/** Undefined if that is not all before `to`. */
export function readAt(file: number, position: number, length: number, to: number): Buffer | undefined {
  if (position + length > to) return undefined;
  const bytes = Buffer.allocUnsafe(length);
  for (let done = 0; done < length;) {
    const read = readSync(file, bytes, done, length - done, position + done);
    if (read === 0) return undefined;
    done += read;
  }
  return bytes;
}

export function writeAt(file: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length;) {
    done += writeSync(file, bytes, done, bytes.length - done, position + done);
  }
}

/** A new file survives a crash of the machine only if its folder is flushed, too. */
export function flushFolder(path: string): void {
  const folder = openSync(path, 'r');
  fsyncSync(folder);
  closeSync(folder);
}

/** @param record Path of the file whose absence says that the data may be opened without the damaged part. */
export function damagedJournal(path: string, record: string, position: number): Error {
  const where = position === 0 ? 'at byte 0, its beginning, or belongs to other data' : `at byte ${position}`;
  return damagedFiles(
    `The journal ${path} is damaged ${where}. Put a backup of its folder in place, or remove ${record} to start without what was written from there on.`,
  );
}

/** @param written How much was acknowledged. Unit: bytes. */
export function cutJournal(path: string, end: number, size: number, written: number): string {
  const lost =
    end < written
      ? 'was acknowledged, but is damaged or did not reach the disk'
      : 'was cut short and never acknowledged';
  return `The journal ${path} was cut off at byte ${end} of ${Math.max(size, written)}: what followed ${lost}.`;
}
