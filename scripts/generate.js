import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { askForRest } from '../libs/schematics/src/questions.js';
import { newResource } from '../libs/schematics/src/resource.js';
import { readArguments } from './support/arguments.js';

/** What `npm run generate` does; the schematic in libs/schematics does the same for the Nest CLI. */
const APP_MODULE = 'src/app.module.ts';
const USAGE = `Usage: npm run generate -- comments title:text! body:text due:timestamp [--public | --tenant | --events]

Writes a resource with its test, and adds it to src/app.module.ts. Types: text, texts, integer, number, decimal, boolean,
timestamp, values of an enum (state:open/done!), a resource to refer to, in whose folder the new one is written (post:posts!).
! marks a required field. address.city:text is a field of a nested object. In a terminal, it asks for what you leave out.

  --public   everybody reads and writes the records; outside a terminal, this is the default
  --tenant   each tenant has records of its own
  --events   and subscribers of the tenant are told of each write, by webhooks and the live stream`;
const flags = Object.fromEntries(['public', 'tenant', 'events'].map((name) => [name, { type: 'boolean' }]));
const { values, positionals } = readArguments(USAGE, flags, { positionals: [0, Infinity] });
const [first, ...others] = positionals;

try {
  const application = { appModule: readFileSync(APP_MODULE, 'utf8'), exists: existsSync };
  const given = { ...values, name: first, fields: others };
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
  const { name, fields, ...options } = isTerminal ? await askForRest(given, application) : given;
  const { files, appModule, notice } = await newResource(name, fields, { ...options, ...application });
  const existing = files.find(([path]) => existsSync(path));
  if (existing) throw new Error(`${existing[0]} is there already.`);
  for (const [path, content] of files) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, content);
    console.log(`CREATE ${path}`);
  }
  writeFileSync(APP_MODULE, appModule);
  console.log(`UPDATE ${APP_MODULE}`);
  if (notice) console.log(notice);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
