import { FIGURES } from './figures.js';
import { OPERATIONS } from './operations.js';

/** The report as text: a table for each operation, in Markdown. */
export function table({ machine, database, options, peers, cells, memory }) {
  const parts = [
    `${database}, ${options.todos} todos; ${options.repeats} repeats of ${options.seconds} s. ` +
      `${machine.processor}, ${machine.cores} cores, Node.js ${machine.node}.`,
    'Ratios to the hand-written limit: median (least to greatest), and the median itself.',
  ];
  for (const operation of options.operations) {
    parts.push(`\n## ${OPERATIONS[operation].title}\n`);
    parts.push(...rows(cells.filter((cell) => cell.operation === operation)));
  }
  parts.push('\n## Resident memory\n');
  parts.push(...aligned([['Peer', 'Fresh', 'After the load'], ...memoryRows(peers, memory)]));
  return parts.join('\n');
}

function rows(cells) {
  const head = ['Connections', 'Peer', ...Object.values(FIGURES).map(({ title }) => title)];
  const body = cells.map((cell) => [
    String(cell.connections),
    cell.peer,
    ...Object.entries(FIGURES).map(([figure, { unit }]) => shownFigure(cell[figure], unit)),
  ]);
  return aligned([head, ...body]);
}

function memoryRows(peers, memory) {
  const shown = ({ mib, ratio }) =>
    mib === undefined ? 'unknown' : `${ratio.toFixed(2)} · ${mib.toFixed(0)} MiB`;
  return Object.keys(peers).map((peer) => [peer, shown(memory[peer].fresh), shown(memory[peer].loaded)]);
}

/** Text such as `0.95 (0.91 to 1.02) · 1240 requests/s`. */
export function shownFigure({ median, ratio }, unit) {
  if (median === undefined) return 'unknown';
  const short = unit.replace(' per request', '').replace('requests', '');
  if (ratio.median === undefined) return `${digits(median)} ${short}`;
  return `${digits(ratio.median)} (${digits(ratio.min)} to ${digits(ratio.max)}) · ${digits(median)} ${short}`;
}

/** Three significant digits. */
export function digits(value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

function aligned([head, ...body]) {
  const widths = head.map((_, i) => Math.max(...[head, ...body].map((row) => row[i].length)));
  const line = (row) => `| ${row.map((text, i) => text.padEnd(widths[i])).join(' | ')} |`;
  return [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...body.map(line)];
}
