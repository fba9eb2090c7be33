import { performance } from 'node:perf_hooks';

const WIDTH = 30;
const EVERY_MS = 100;

/**
 * Shows the progress of a command, as a bar in a terminal, and at the end prints what it has done.
 *
 * @param total number of records, if it is known
 */
export function startProgress(verb, total) {
  const begun = performance.now();
  let done = 0;
  let shown = 0;
  const { isTTY } = process.stderr;
  const show = () => {
    const share = total ? Math.min(1, done / total) : 0;
    const bar = total
      ? `[${'='.repeat(Math.round(share * WIDTH)).padEnd(WIDTH)}] ${Math.floor(share * 100)} % `
      : '';
    process.stderr.write(`\r${bar}${done.toLocaleString('en')} records`);
    shown = performance.now();
  };
  return {
    add(count) {
      done += count;
      if (isTTY && performance.now() - shown > EVERY_MS) show();
    },
    end() {
      if (isTTY) {
        show();
        process.stderr.write('\n');
      }
      const seconds = (performance.now() - begun) / 1_000;
      console.error(`${verb} ${done.toLocaleString('en')} records in ${seconds.toFixed(1)} s.`);
    },
  };
}
