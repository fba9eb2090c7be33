/** @mongodb */
import type { Caller } from '../support/apart/isolation-model.js';
import { INITECH, IsolationRun } from '../support/apart/isolation-run.js';
import { createPrivateApp } from '../support/apart/resources.js';
import { Random } from '../support/random.js';
import { ACME, GLOBEX, tokenOf } from '../support/tenants.js';
import { useApp } from '../support/test-app.js';

const SEED = Number(process.env.ISOLATION_SEED ?? 1);
const OPERATIONS = Number(process.env.ISOLATION_OPERATIONS ?? 600);
/** Faults that are shown; one makes others. */
const SHOWN = 10;

/** How often a long run says how far it is. Unit: operations. */
const REPORTED_EVERY = 1_000;

const PEOPLE: readonly Caller[] = [
  ...[ACME, GLOBEX, INITECH].map((tenant) => ({ tenant, sub: 'ada' })),
  { tenant: ACME, sub: 'bob' },
  { tenant: GLOBEX },
];

describe(`${OPERATIONS} random operations of several tenants, seed ${SEED}`, () => {
  const app = useApp(() => createPrivateApp());

  it('never show or change anything that is private to others', async () => {
    const callers = PEOPLE.map((person) => ({
      ...person,
      token: tokenOf(person.tenant, { sub: person.sub }),
    }));
    const run = new IsolationRun(app, new Random(SEED), [...callers, {}]);
    const start = performance.now();
    for (let done = 0; done < OPERATIONS;) {
      done = Math.min(done + REPORTED_EVERY, OPERATIONS);
      const known = run.faults.length;
      await run.carryOut(done);
      for (const fault of run.faults.slice(known)) report(fault);
      const seconds = Math.round((performance.now() - start) / 1_000);
      report(`${done} operations in ${seconds} s: ${run.faults.length} faults`);
    }
    report(JSON.stringify(Object.fromEntries([...run.actions, ...run.statuses])));
    expect(run.faults.slice(0, SHOWN)).toEqual([]);
  }, 7_200_000);
});

/** Says how far a long run is. */
function report(line: string): void {
  if (process.env.ISOLATION_OPERATIONS) process.stdout.write(`${line}\n`);
}
