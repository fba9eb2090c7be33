import { useTestApp } from '../../support/test-app.js';

const LONG = 48;
const FAULTS = JSON.stringify({ operations: Array<number>(1_000).fill(1) });

describe('short requests', () => {
  const app = useTestApp();

  it('are answered between the runs of bulk requests that came before them', async () => {
    const headers = { 'Content-Type': 'application/json' };
    const long = async () => {
      const answer = await fetch(`${app.url}/todos/bulk`, { method: 'POST', headers, body: FAULTS });
      await answer.arrayBuffer();
    };
    const short = async () => (await fetch(`${app.url}/todos/count`)).arrayBuffer();
    // Connections and compiled code, so that it is not the first requests that count.
    await Promise.all([long(), short()]);
    let [left, between] = [LONG, 0];
    const all = Array.from({ length: LONG }, () => long().finally(() => (left -= 1)));
    while (left > 0) {
      await short();
      between += 1;
    }
    await Promise.all(all);
    expect(between).toBeGreaterThan(LONG);
  });
});
