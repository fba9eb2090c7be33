import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readArguments } from './support/arguments.js';
import { buildBundles } from './build-if-missing.js';
import { startService, stopProcess } from './support/processes.js';

const FOLDER = 'clients/typescript';

readArguments(
  `Usage: npm run client\n\nBuilds the typed client of the service, ${FOLDER}, from its OpenAPI document.`,
);
await buildBundles();
const { default: openapiTS, astToString } = await import('openapi-typescript');

console.error('Starting the service for its OpenAPI document …');

const dataDir = mkdtempSync(join(tmpdir(), 'client-'));
const service = await startService({ ...process.env, DATA_DIR: dataDir, MONGODB_URI: '', DOCS: 'on' });
try {
  const document = await (await fetch(`${service.url}/docs/openapi.json`)).json();
  console.error('Generating the types …');
  writeFileSync(
    join(FOLDER, 'src/api.ts'),
    astToString(await openapiTS(document, { defaultNonNullable: false })),
  );
} finally {
  await stopProcess(service);
  rmSync(dataDir, { recursive: true });
}
console.error('Compiling the client …');
const compiler = 'node_modules/typescript/bin/tsc';
const { status } = spawnSync(process.execPath, [compiler, '-p', FOLDER], { stdio: 'inherit' });
if (status === 0) console.error(`The client is in ${FOLDER}; its README.md says how to use it.`);
process.exitCode = status ?? 1;
