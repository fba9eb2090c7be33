import { checkBackup, readBackup, writeBackup } from './backup-file.js';
import { countOf, open, openEmbedded, openOwn, recordsOf, storeAll } from './database.js';
import { fail } from '../support/arguments.js';
import { startProgress } from './progress.js';

/** Writes all records of the service's database to a file, with access for its owner only. */
export async function backup(_options, path) {
  const database = await openOwn();
  const progress = startProgress('Wrote', await countOf(database));
  await writeBackup(path, recordsOf(database), progress.add);
  await database.close();
  progress.end();
}

/** Stores the records of a backup in the service's database, which must be empty. */
export async function restore(_options, path) {
  const progress = startProgress('Restored', await checkBackup(path));
  const database = await openOwn();
  await storeAll(database, readBackup(path), progress.add);
  await database.close();
  progress.end();
}

/** Copies the embedded database to a MongoDB, or back. The target must be empty; the source is not changed. */
export async function move({ to, from }) {
  if ((to === undefined) === (from === undefined))
    fail(
      'Name one database: npm run data -- move --to mongodb://127.0.0.1:27017/posts-and-todos, or --from.',
    );
  const [source, target] = to
    ? [await openEmbedded(), await open(to)]
    : [await open(from), await openEmbedded()];
  const progress = startProgress('Moved', await countOf(source));
  await storeAll(target, recordsOf(source), progress.add);
  const [sent, arrived] = [await countOf(source), await countOf(target)];
  await target.close();
  await source.close();
  progress.end();
  if (sent !== arrived)
    fail(
      `The source has ${sent} records now, the target ${arrived}. Stop the service, drop the target, and move again.`,
    );
}
