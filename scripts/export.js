import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { fail } from './records/fail.js';
import { SERVICE_OPTIONS } from './records/import-lines.js';

/**
 * `npm run --silent export -- todos > todos.ndjson` writes each record of the running service as a line;
 * `--query` filters them.
 */
const { values, positionals } = parseArgs({
  options: { ...SERVICE_OPTIONS, query: { type: 'string', default: '' } },
  allowPositionals: true,
});
const [
  path = fail(
    "Usage: npm run --silent export -- todos [--query 'completed=false'] [--url …] [--token …] > todos.ndjson",
  ),
] = positionals;
const { url, token, query } = values;
const headers = { Accept: 'application/x-ndjson', ...(token && { Authorization: `Bearer ${token}` }) };
const answer = await fetch(`${url.replace(/\/$/, '')}/${path}?${query}`, { headers }).catch((error) =>
  fail(
    `The service at ${url} cannot be reached: ${error.cause?.message ?? error.message}. Start it with npm start, or pass --url.`,
  ),
);
if (answer.status !== 200) fail(`The service answered ${answer.status}: ${await answer.text()}`);
// A reader that has read enough, such as head, ends the export.
process.stdout.on('error', ({ code }) => process.exit(code === 'EPIPE' ? 0 : 1));
await pipeline(Readable.fromWeb(answer.body), process.stdout);
