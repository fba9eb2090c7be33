import { parseArgs } from 'node:util';
import { countOf, open, openEmbedded, recordsOf, storeAll } from './records/database.js';
import { fail } from './records/fail.js';
import { startProgress } from './records/progress.js';

/**
 * `npm run move -- --to mongodb://…` copies the records of DATA_DIR's embedded database to a MongoDB, and
 * `--from mongodb://…` those of a MongoDB to the embedded database. The target must be empty; the source is
 * not changed.
 */
const { to, from } = parseArgs({ options: { to: { type: 'string' }, from: { type: 'string' } } }).values;
if ((to === undefined) === (from === undefined))
  fail('Usage: npm run move -- (--to | --from) mongodb://127.0.0.1:27017/posts-and-todos');
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
process.exit();
