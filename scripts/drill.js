import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { watchSteps } from './drills/support/steps.js';

/**
 * Puts the built service under load, faults or attacks, and compares its measurements with the targets:
 *
 *     npm run drill -- bodies            one drill in full
 *     npm run drill -- bodies --short    its short form, as in CI
 *
 * Each file in scripts/drills is a drill. Its default export takes `{ short, begin }`, calls `begin` with the
 * name of each step, and resolves with `{ figures, failures }`: the measurements by name, and a sentence for
 * each missed target. Exits with 1 if there are failures, or if a step does not end. Linux only (/proc).
 */
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { short: { type: 'boolean' } },
});
const [name] = positionals;
const names = readdirSync(new URL('./drills/', import.meta.url), { withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.js'))
  .map((entry) => basename(entry.name, '.js'));
if (positionals.length !== 1 || !names.includes(name)) {
  console.error(`Name one drill: ${names.join(', ')}`);
  process.exit(1);
}
/**
 * Longer than any step takes on a busy machine. In CI, the short form must name a hanging step in time. Unit:
 * milliseconds.
 */
const STEP_LIMIT_MS = values.short ? 100_000 : 300_000;

const { default: drill } = await import(`./drills/${name}.js`);
const { begin, end } = watchSteps({
  limitMs: STEP_LIMIT_MS,
  tell: (step) => console.error(`${name}: ${step}`),
  giveUp: (failure) => {
    console.log(`FAILED ${failure}`);
    process.exit(1);
  },
});
process.once('SIGTERM', () => process.exit(1)).once('SIGINT', () => process.exit(1));
begin('start');
const { figures, failures } = await drill({ short: values.short === true, begin });
end();
for (const [figure, value] of Object.entries(figures)) console.log(`${figure}: ${value}`);
for (const failure of failures) console.log(`FAILED ${failure}`);
console.log(failures.length === 0 ? `${name}: every target met` : `${name}: ${failures.length} missed`);
// Connections and the like that a drill has left open must not keep the process alive.
process.exit(failures.length === 0 ? 0 : 1);
