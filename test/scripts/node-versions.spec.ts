import { readFileSync } from 'node:fs';
import { runNode } from '../support/run.js';
import { buildService } from '../support/service-process.js';

/** What a person or an orchestrator starts. */
const ENTRIES = [
  ...['scripts/start.js', 'scripts/start-worker.js', 'scripts/token.js'],
  ...['dist/main.js', 'dist/worker.js', 'dist/bundle/main.js', 'dist/bundle/worker.js'],
];
const OLD = ['18.20.8', '20.18.3', '21.7.3', '22.11.0', '23.11.1'];

beforeAll(buildService);

/** Runs a script in a Node that says to be another version. */
function runOn(version: string, script: string) {
  const pretence = `Object.defineProperty(process.versions, 'node', { value: '${version}' })`;
  const args = ['--import', `data:text/javascript,${encodeURIComponent(pretence)}`, script];
  return runNode(args, { timeout: 60_000, env: { PATH: process.env.PATH, NODE_ENV: 'production' } });
}

it.each<[version: string, script: string]>([
  ...OLD.map((version): [string, string] => [version, 'src/check-node.js']),
  ...ENTRIES.map((entry): [string, string] => ['20.18.3', entry]),
])('Node %s is told by %s in one sentence to give way to a newer one', (version, script) => {
  const stderr = `Node ${version} cannot run this project. Install Node 20.19 or newer, 22.12 or newer, or 24 or newer from https://nodejs.org (with nvm: nvm install).\n`;
  expect(runOn(version, script)).toEqual({ status: 1, stdout: '', stderr });
});

it.each(['20.19.0', '20.20.2', '22.12.0', '22.23.3', '24.0.0', '26.1.0'])('Node %s may run it', (version) => {
  expect(runOn(version, 'src/check-node.js')).toEqual({ status: 0, stdout: '', stderr: '' });
});

it('no package of the service requires a newer Node than the service itself', () => {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, { engines?: { node?: string } }>;
  };
  const asking = Object.entries(packages)
    .filter(([, { engines: { node = '' } = {} }]) => /^>=\s*2[1-9]|^\^2[1-9]/.test(node) && !/20/.test(node))
    .map(([path]) => path);
  // The code generator of the Nest CLI, which writes files for developers; .npmrc has the reason why npm does not say so.
  expect(asking).toEqual(['node_modules/@nestjs/schematics']);
});
