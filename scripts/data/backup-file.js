import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { finished } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import mongoose from 'mongoose';
import { fail } from '../support/arguments.js';

const { EJSON } = mongoose.mongo.BSON;

/** The first line of a backup. After it, each record is a line of MongoDB's Extended JSON; the last line has their number. */
const HEAD = { format: 'posts-and-todos backup', version: 1 };

/** Writes records to a file, which only exists once it is complete. */
export async function writeBackup(path, records, onWritten) {
  const draft = `${path}.part`;
  const gzip = createGzip();
  const file = createWriteStream(draft, { mode: 0o600 });
  const ended = finished(gzip.pipe(file));
  const write = async (line) => {
    if (!gzip.write(`${line}\n`)) await once(gzip, 'drain');
  };
  try {
    let count = 0;
    await write(JSON.stringify(HEAD));
    for await (const [collection, document] of records) {
      await write(EJSON.stringify({ collection, document }, { relaxed: false }));
      onWritten(1);
      count += 1;
    }
    await write(JSON.stringify({ count }));
    gzip.end();
    await ended;
    await rename(draft, path);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** The records of a backup, as `[collection, document]`; fails if the backup is not complete. */
export async function* readBackup(path) {
  const source = createReadStream(path).on('error', (error) =>
    fail(`${path} cannot be read: ${error.message}`),
  );
  const unzipped = source.pipe(createGunzip()).on('error', () => fail(`${path} is damaged or not a backup.`));
  let count = -1;
  let stated;
  for await (const line of createInterface({ input: unzipped, crlfDelay: Infinity })) {
    count += 1;
    if (count === 0) {
      const { format, version } = JSON.parse(line);
      if (format !== HEAD.format || version !== HEAD.version)
        fail(`${path} is not a backup of this version.`);
      continue;
    }
    const { collection, document, count: total } = EJSON.parse(line, { relaxed: false });
    if (collection === undefined) stated = Number(total);
    else yield [collection, document];
  }
  if (stated !== count - 1) fail(`${path} ends too early: it is damaged.`);
}

/** Reads a whole backup without using it, so that nothing of a damaged one is stored. */
export async function checkBackup(path) {
  let count = 0;
  const records = readBackup(path);
  while (!(await records.next()).done) count += 1;
  return count;
}
