import { writeBackup } from './records/backup-file.js';
import { countOf, openOwn, recordsOf } from './records/database.js';
import { fail } from './records/fail.js';
import { startProgress } from './records/progress.js';

/** `npm run backup -- FILE` writes all records of the service's database to a file, with access for its owner only. */
const path = process.argv[2] ?? fail('Usage: npm run backup -- <file, such as backup.ndjson.gz>');
const database = await openOwn();
const progress = startProgress('Wrote', await countOf(database));
await writeBackup(path, recordsOf(database), progress.add);
await database.close();
progress.end();
process.exit();
