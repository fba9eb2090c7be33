import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { open } from 'lmdb';

const salt = Buffer.from('8 bytes.');

/** Sets a key of the store's own state in a data file. */
function writeState(folder: string, key: string, value: Buffer): void {
  const encoding = { encoding: 'binary', keyEncoding: 'binary' } as const;
  const root = open<Buffer, Buffer>({ path: folder, ...encoding, overlappingSync: false, maxDbs: 4 });
  root.openDB<Buffer, Buffer>({ name: 'journal', ...encoding }).putSync(Buffer.from(key), value);
  void root.close();
}

/** Replaces the identity of the journal in a data file. */
export function writeJournalKey(folder: string, value: Buffer): void {
  writeState(folder, 'journal', value);
}

/**
 * Writes a folder as versions with a journal without a head did: the data file has the salt of its frames,
 * and behind them is a rest of older ones.
 */
export function writeFormerFolder(
  folder: string,
  records: Map<Buffer, Buffer>[],
  change: (frames: Buffer[]) => Buffer[],
): void {
  mkdirSync(folder);
  writeState(folder, 'salt', salt);
  writeFileSync(join(folder, 'data.mdb-head'), '');
  let checksum = 0;
  const frames = records.map((changes) => {
    const body = Buffer.concat([...changes].flatMap(([key, value]) => [lengths(key, value), key, value]));
    const header = Buffer.alloc(16);
    salt.copy(header);
    header.writeUInt32LE(body.length, 8);
    checksum = crc32(body, crc32(header.subarray(0, 12), checksum));
    header.writeUInt32LE(checksum, 12);
    return Buffer.concat([header, body]);
  });
  writeFileSync(
    join(folder, 'journal'),
    Buffer.concat([...change(frames), Buffer.from('a rest of older frames')]),
  );
}

function lengths(key: Buffer, value: Buffer): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16LE(key.length);
  bytes.writeUInt32LE(value.length, 2);
  return bytes;
}
