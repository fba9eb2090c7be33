import { digits } from './table.js';

const WIDTH = 520;
const LABELS = 205;
const NOTES = 110;
const ROW = 26;
const BAR = 13;
const AXIS = 22;
const STEPS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];

/**
 * Bars of ratios on a logarithmic axis, as SVG. Each bar begins at 1, so that twice as much and half as much
 * are equally long.
 *
 * @param bars each with its label, median, min, max and a note to its right
 * @param range smallest and greatest ratio of all charts that are compared
 */
export function chart(bars, { least, greatest }) {
  const plot = WIDTH - LABELS - NOTES;
  const x = (ratio) => LABELS + (plot * Math.log(ratio / least)) / Math.log(greatest / least);
  const height = bars.length * ROW;
  const all = STEPS.filter((step) => step >= least && step <= greatest);
  const ticks = all.length > 7 ? all.filter((step) => Number.isInteger(Math.log10(step))) : all;
  const parts = [
    ...ticks.map((step) => tick(x(step), step, height)),
    ...bars.map((bar, i) => row(bar, i * ROW + ROW / 2, x)),
  ];
  return `<svg viewBox="0 0 ${WIDTH} ${height + AXIS}" role="img">${parts.join('')}</svg>`;
}

function tick(at, step, height) {
  const width = step === 1 ? 1.5 : 0.5;
  const line = `<line x1="${at}" x2="${at}" y1="0" y2="${height}" stroke="var(--faint)" stroke-width="${width}" opacity=".6"/>`;
  return `${line}<text class="tick" x="${at}" y="${height + 15}" text-anchor="middle">${step}</text>`;
}

function row({ label, median, min, max, note, isService }, middle, x) {
  const [from, to] = [Math.min(x(1), x(median)), Math.max(x(1), x(median))];
  const weight = isService ? ' font-weight="600"' : '';
  const baseline = middle + 4;
  return [
    `<text x="${LABELS - 8}" y="${baseline}" text-anchor="end"${weight}>${label}</text>`,
    `<rect x="${from}" y="${middle - BAR / 2}" width="${Math.max(to - from, 1)}" height="${BAR}" fill="var(--${isService ? 'service' : 'peer'})"/>`,
    `<line x1="${x(min)}" x2="${x(max)}" y1="${middle}" y2="${middle}" stroke="var(--ink)" stroke-width="1.5"/>`,
    `<text x="${WIDTH - NOTES + 8}" y="${baseline}"${weight}>${digits(median)}</text>`,
    `<text class="tick" x="${WIDTH - NOTES + 40}" y="${baseline}" font-size="10">${note.replace('requests', 'req').replace(' per request', '')}</text>`,
  ].join('');
}
