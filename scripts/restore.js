import { checkBackup, readBackup } from './records/backup-file.js';
import { openOwn, storeAll } from './records/database.js';
import { fail } from './records/fail.js';
import { startProgress } from './records/progress.js';

/**
 * `npm run restore -- FILE` stores the records of a backup in the service's database, which must be empty.
 */
const path = process.argv[2] ?? fail('Usage: npm run restore -- <file that npm run backup has written>');
const progress = startProgress('Restored', await checkBackup(path));
const database = await openOwn();
await storeAll(database, readBackup(path), progress.add);
await database.close();
progress.end();
process.exit();
