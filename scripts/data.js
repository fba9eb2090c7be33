import { backup, move, restore } from './data/backup.js';
import { exportLines, importLines, seed, SERVICE_OPTIONS } from './data/over-http.js';
import { fail, readArguments } from './support/arguments.js';

const USAGE = `Usage: npm run data -- <command>

  seed --todos 100000         creates todos in the running service, the same ones each time
  import todos < FILE         creates a record of the running service from each line of NDJSON
  export todos > FILE         writes the records of the running service as NDJSON; --query completed=false filters
                              them. Run it as npm run --silent data
  backup FILE.gz              writes all records of the database to a file
  restore FILE.gz             stores a backup in an empty database
  move --to mongodb://…       copies the embedded database to an empty MongoDB
  move --from mongodb://…     copies a MongoDB to an empty embedded database

seed, import and export take --url (by default http://127.0.0.1:3000, or URL) and --token. The others use the database
of the service, whether it runs or not: that of MONGODB_URI or DATA_DIR. docs/data.md explains each of them.`;

const TEXT = { type: 'string' };
/** The commands, each with its options and the number of its other arguments. */
const COMMANDS = {
  seed: { run: seed, options: { ...SERVICE_OPTIONS, todos: TEXT } },
  import: { run: importLines, options: SERVICE_OPTIONS, positionals: [1, 1] },
  export: { run: exportLines, options: { ...SERVICE_OPTIONS, query: TEXT }, positionals: [1, 1] },
  backup: { run: backup, positionals: [1, 1] },
  restore: { run: restore, positionals: [1, 1] },
  move: { run: move, options: { to: TEXT, from: TEXT } },
};

const [name = '', ...args] = process.argv.slice(2);
if (name.startsWith('-')) readArguments(USAGE);
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : fail(USAGE);
const { values, positionals } = readArguments(USAGE, command.options, { ...command, args });
await command.run(values, ...positionals);
