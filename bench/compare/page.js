import { chart } from './chart.js';
import { FIGURES } from './figures.js';
import { OPERATIONS } from './operations.js';
import { digits } from './table.js';

/** The report as a self-contained page: charts of the ratios, and tables of all figures. */
export function page(report) {
  const { machine, database, options, at } = report;
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Benchmark: ratios to a hand-written service</title>
<style>${STYLE}</style>
<main>
<h1>Ratios to a hand-written service</h1>
<p>${text(database)} with ${options.todos.toLocaleString('en')} todos; ${options.repeats} alternating repeats of ${options.seconds} s each.
${text(machine.processor)}, ${machine.cores} cores, ${machine.memoryGiB} GiB, ${text(machine.system)}, Node.js ${machine.node}; ${at.slice(0, 10)}.
A bar begins at 1, the hand-written service, and ends at the median; the line on it spans the least to the greatest repeat.</p>
${sections(report).map(section).join('\n')}
<h2>All figures</h2>
<p>Each cell: the median of the ratios (least to greatest), and the median of the figure itself. CPU in µs per request, latencies in ms.</p>
${options.operations.map((operation) => cellTable(report, operation)).join('\n')}
${memoryTable(report)}
</main>
</html>
`;
}

/**
 * The most important charts: the throughput for many clients, its cost, and the latency for a single client.
 */
function sections({ options, cells, peers, memory }) {
  const [few, many] = [Math.min(...options.connections), Math.max(...options.connections)];
  const shown = [
    ['throughput', many, 'longer is better'],
    ['serverCpu', many, 'shorter is better'],
    ['databaseCpu', many, 'shorter is better'],
    ['p50', few, 'shorter is better'],
    ['p99', many, 'shorter is better'],
  ];
  const charts = shown.map(([figure, connections, direction]) => ({
    title: `${FIGURES[figure].title}, ${connections} ${connections === 1 ? 'connection' : 'connections'} (${direction})`,
    panels: options.operations.map((operation) => ({
      title: OPERATIONS[operation].title,
      bars: cells
        .filter((cell) => cell.operation === operation && cell.connections === connections)
        .filter((cell) => cell[figure].ratio?.median !== undefined)
        .map((cell) => ({
          label: peers[cell.peer],
          isService: cell.peer === 'service',
          ...cell[figure].ratio,
          note: `${digits(cell[figure].median)} ${FIGURES[figure].unit}`,
        })),
    })),
  }));
  const sizes = [
    ['fresh', 'Before the first request'],
    ['loaded', 'After the load'],
  ].map(([when, title]) => ({
    title,
    bars: Object.entries(memory)
      .filter(([, size]) => size[when].ratio !== undefined)
      .map(([peer, size]) => {
        const { ratio, mib } = size[when];
        const [label, isService] = [peers[peer], peer === 'service'];
        return { label, isService, median: ratio, min: ratio, max: ratio, note: `${mib.toFixed(0)} MiB` };
      }),
  }));
  return [...charts, { title: 'Resident memory (shorter is better)', panels: sizes }];
}

function section({ title, panels }) {
  const filled = panels.filter(({ bars }) => bars.length > 0);
  if (filled.length === 0) return `<h2>${title}</h2><p>This system does not tell.</p>`;
  const values = filled.flatMap(({ bars }) => bars.flatMap(({ min, max }) => [min, max]));
  const range = { least: Math.min(0.5, ...values), greatest: Math.max(2, ...values) };
  const figures = filled.map(
    (panel) => `<figure><figcaption>${panel.title}</figcaption>${chart(panel.bars, range)}</figure>`,
  );
  return `<h2>${title}</h2>\n<div class="panels">${figures.join('\n')}</div>`;
}

function cellTable({ cells, peers, options }, operation) {
  const figures = Object.keys(FIGURES);
  const rows = options.connections.flatMap((connections) =>
    cells
      .filter((cell) => cell.operation === operation && cell.connections === connections)
      .map((cell) => [connections, peers[cell.peer], ...figures.map((figure) => both(cell[figure]))]),
  );
  const head = ['Connections', 'Peer', ...figures.map((figure) => FIGURES[figure].title)];
  return tableOf(OPERATIONS[operation].title, head, rows);
}

function memoryTable({ memory, peers }) {
  const size = ({ mib, ratio }) =>
    mib === undefined ? 'unknown' : `<b>${digits(ratio)}</b> <small>${mib.toFixed(0)} MiB</small>`;
  const rows = Object.entries(memory).map(([peer, { fresh, loaded }]) => [
    peers[peer],
    size(fresh),
    size(loaded),
  ]);
  return tableOf('Resident memory', ['Peer', 'Fresh', 'After the load'], rows);
}

function both({ median, ratio }) {
  if (ratio?.median === undefined) return 'unknown';
  const span = `(${digits(ratio.min)} to ${digits(ratio.max)})`;
  return `<b>${digits(ratio.median)}</b> ${span} <small>${digits(median)}</small>`;
}

function tableOf(caption, head, rows) {
  const cellsOf = (row, tag) => row.map((cell) => `<${tag}>${cell}</${tag}>`).join('');
  return `<div class="wide"><table><caption>${caption}</caption><thead><tr>${cellsOf(head, 'th')}</tr></thead>
<tbody>${rows.map((row) => `<tr>${cellsOf(row, 'td')}</tr>`).join('\n')}</tbody></table></div>`;
}

function text(value) {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

const STYLE = `
:root { color-scheme: light dark; --ink: #1c2733; --faint: #6b7785; --rule: #d6dce3; --paper: #fff; --service: #c2410c; --peer: #7b93ad; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6ebf0; --faint: #96a3b1; --rule: #35414d; --paper: #14191f; --service: #fb923c; --peer: #6f8aa6; }
}
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 68rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; margin: 0 0 .5rem; }
h2 { font-size: 1.15rem; margin: 2.5rem 0 .75rem; }
p { max-width: 48rem; color: var(--faint); margin: .25rem 0; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(27rem, 1fr)); gap: 1.25rem 2rem; }
figure { margin: 0; }
figcaption { font-weight: 600; }
svg { width: 100%; height: auto; display: block; }
svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg .tick { fill: var(--faint); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1.25rem 0; font-size: .85rem; width: 100%; }
caption { text-align: left; font-weight: 600; padding: .25rem 0; }
th, td { text-align: left; padding: .25rem .75rem .25rem 0; border-bottom: 1px solid var(--rule); white-space: nowrap; }
small { color: var(--faint); }
`;
