import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

/**
 * Carries out many random operations of several tenants and compares their results, and all stored data, with
 * a model of who may see and change what. This is the suite of the ordinary tests, but longer.
 *
 * `node scripts/isolation-run.js --operations 100000 --seed 7` uses the MongoDB of MONGODB_URI, or the embedded database.
 */
const { values } = parseArgs({
  options: { operations: { type: 'string', default: '10000' }, seed: { type: 'string' } },
});
const seed = values.seed ?? String(Date.now() % 1_000_000);
console.log(
  `${values.operations} operations, seed ${seed}, on ${process.env.MONGODB_URI ? 'a MongoDB' : 'the embedded database'}`,
);
const { status } = spawnSync('npm', ['test', '--silent', '--', 'test/tenancy/isolation.e2e-spec.ts'], {
  env: { ...process.env, ISOLATION_OPERATIONS: values.operations, ISOLATION_SEED: seed },
  stdio: 'inherit',
  shell: true,
});
process.exit(status ?? 1);
