import { mkdirSync, writeFileSync } from 'node:fs';
import { arch, availableParallelism, cpus, platform, totalmem } from 'node:os';
import { join } from 'node:path';
import { FIGURES } from './figures.js';
import { page } from './page.js';
import { LIMIT, PEERS } from './peers.js';
import { table } from './table.js';

/** Prints the table, and writes the results as JSON and as a page with charts. */
export function writeReport({ options, database, cells, memory }) {
  const report = {
    at: new Date().toISOString(),
    machine: {
      processor: cpus()[0]?.model ?? 'unknown',
      cores: availableParallelism(),
      memoryGiB: Math.round(totalmem() / 2 ** 30),
      system: `${platform()} ${arch()}`,
      node: process.version,
    },
    database,
    options,
    peers: Object.fromEntries(options.peers.map((name) => [name, PEERS[name].title])),
    cells: cells.flatMap(({ operation, connections, runs }) =>
      options.peers.map((peer) => ({
        operation,
        connections,
        peer,
        clientCpu: spread(runs[peer].map(({ clientCpu }) => clientCpu)),
        ...figuresOf(runs[peer], runs[LIMIT]),
      })),
    ),
    memory: Object.fromEntries(
      Object.entries(memory).map(([peer, sizes]) => [peer, withRatios(sizes, memory[LIMIT])]),
    ),
  };
  console.log(table(report));
  mkdirSync(options.output, { recursive: true });
  const name = join(options.output, process.env.MONGODB_URI ? 'mongodb' : 'embedded');
  writeFileSync(`${name}.json`, `${JSON.stringify(report, undefined, 2)}\n`);
  writeFileSync(`${name}.html`, page(report));
  console.log(`\nAlso in ${name}.json and ${name}.html`);
}

/** Each figure with its ratio to the limit's figure in the same repeat. */
function figuresOf(runs, limits) {
  return Object.fromEntries(
    Object.keys(FIGURES).map((figure) => {
      const ratios = runs.map((run, repeat) => ratioOf(run[figure], limits[repeat][figure]));
      return [figure, { ...spread(runs.map((run) => run[figure])), ratio: spread(ratios) }];
    }),
  );
}

function withRatios(sizes, limits) {
  return Object.fromEntries(
    Object.entries(sizes).map(([when, mib]) => [when, { mib, ratio: ratioOf(mib, limits[when]) }]),
  );
}

function ratioOf(value, limit) {
  return value === undefined || !(limit > 0) ? undefined : value / limit;
}

/** Median, smallest and greatest value; nothing if a value is missing. */
function spread(values) {
  if (values.some((value) => value === undefined)) return {};
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, min: sorted[0], max: sorted.at(-1), values };
}
