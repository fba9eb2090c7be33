import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { buildBundles } from '../scripts/build-if-missing.js';
import { fail, readArguments } from '../scripts/support/arguments.js';

/**
 * Each file in tools/drills is a drill. Its default export takes `{ short, begin }`, calls `begin` with the name of each step,
 * and resolves with `{ figures, failures }`: the measurements by name, and a sentence for each missed target.
 */
const names = readdirSync(new URL('./drills/', import.meta.url)).map((file) => basename(file, '.js'));
const USAGE = `Usage: npm run drill -- <name> [--short]

Puts the built service under faults or attacks, compares its measurements with the targets, and exits with 1 if it misses
one (Linux only). --short is the form of CI, which does not compare times. The drills: ${names.join(', ')}.`;
const flags = { short: { type: 'boolean', default: false } };
const { values, positionals } = readArguments(USAGE, flags, { positionals: [1, 1] });
const [name] = positionals;
if (!names.includes(name)) fail(`There is no drill "${name}", but ${names.join(', ')}.`);
/** Longer than any step takes on a busy machine. In CI, a hanging step must be named in time. Unit: milliseconds. */
const STEP_LIMIT_MS = values.short ? 100_000 : 300_000;

await buildBundles();
const { default: drill } = await import(`./drills/${name}.js`);
let timer;
function begin(step) {
  console.error(`${name}: ${step}`);
  clearTimeout(timer);
  timer = setTimeout(() => {
    console.log(`FAILED the step "${step}" has not ended within ${STEP_LIMIT_MS / 1_000} s`);
    process.exit(1);
  }, STEP_LIMIT_MS);
}
process.once('SIGTERM', () => process.exit(1)).once('SIGINT', () => process.exit(1));
begin('start');
const { figures, failures } = await drill({ short: values.short, begin });
for (const [figure, value] of Object.entries(figures)) console.log(`${figure}: ${value}`);
for (const failure of failures) console.log(`FAILED ${failure}`);
console.log(failures.length === 0 ? `${name}: every target met` : `${name}: ${failures.length} missed`);
// Connections and the like that a drill has left open must not keep the process alive.
process.exit(failures.length === 0 ? 0 : 1);
