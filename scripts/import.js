import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { fail } from './records/fail.js';
import { importLines, SERVICE_OPTIONS } from './records/import-lines.js';
import { startProgress } from './records/progress.js';

/**
 * `npm run import -- todos < todos.ndjson` creates a record from each line in the running service. Fields
 * that the service sets itself, which an export contains, are left out. Lists the rejected lines, and then
 * exits with 1.
 */
const SET_BY_SERVICE = ['_id', 'createdAt', 'updatedAt'];
const { values, positionals } = parseArgs({ options: SERVICE_OPTIONS, allowPositionals: true });
const [
  path = fail('Usage: npm run import -- todos [--url http://127.0.0.1:3000] [--token …] < todos.ndjson'),
] = positionals;

async function* lines() {
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity }))
    yield `${inputOf(line)}\n`;
}

/** A line that is not a JSON object is sent unchanged: the service reports what is wrong with it. */
function inputOf(line) {
  try {
    const record = JSON.parse(line);
    if (typeof record !== 'object' || record === null || Array.isArray(record)) return line;
    const fields = Object.entries(record).filter(([name]) => !SET_BY_SERVICE.includes(name));
    return JSON.stringify(Object.fromEntries(fields));
  } catch {
    return line;
  }
}

const progress = startProgress('Imported');
for await (const { line, status, detail } of importLines(values, path, lines())) {
  if (status === 201) progress.add(1);
  else {
    console.error(`Line ${line}: ${detail}`);
    process.exitCode = 1;
  }
}
progress.end();
