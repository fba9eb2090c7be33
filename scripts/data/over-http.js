import { once } from 'node:events';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { fail, positive } from '../support/arguments.js';
import { startProgress } from './progress.js';

/** Options of the commands that talk to a running service. */
export const SERVICE_OPTIONS = {
  url: { type: 'string', default: process.env.URL ?? `http://127.0.0.1:${process.env.PORT || 3000}` },
  token: { type: 'string' },
};

/** Fields that the service sets itself: an export contains them, and an import leaves them out. */
const SET_BY_SERVICE = ['_id', 'createdAt', 'updatedAt'];

const VERBS = ['Water', 'Paint', 'Repair', 'Sell', 'Clean', 'Describe', 'Photograph', 'Move'];
const THINGS = ['the plants', 'the fence', 'the piano', 'the garden', 'the boat'];
const DAY_MS = 86_400_000;

/** Creates todos, the same ones on every run. */
export async function seed({ todos, ...service }) {
  const count = positive('todos', todos, { integer: true });
  const progress = startProgress('Created', count);
  for await (const { status, detail } of resultsOf(service, 'todos', seededTodos(count))) {
    if (status !== 201) fail(`A todo was not created: ${detail}`);
    progress.add(1);
  }
  progress.end();
}

function* seededTodos(count) {
  const start = Date.UTC(2026, 0, 1);
  for (let i = 0; i < count; i += 1) {
    const title = `${VERBS[i % VERBS.length]} ${THINGS[i % THINGS.length]}, no. ${i + 1}`;
    const dueAt = i % 3 === 0 ? undefined : new Date(start + (i % 365) * DAY_MS).toISOString();
    yield `${JSON.stringify({ title, completed: i % 5 === 0, dueAt })}\n`;
  }
}

/** Creates a record from each line of the standard input. Lists the rejected lines, and then exits with 1. */
export async function importLines(service, path) {
  const progress = startProgress('Imported');
  for await (const { line, status, detail } of resultsOf(service, path, inputLines())) {
    if (status === 201) progress.add(1);
    else {
      console.error(`Line ${line}: ${detail}`);
      process.exitCode = 1;
    }
  }
  progress.end();
}

async function* inputLines() {
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

/** Writes each record as a line to the standard output. */
export async function exportLines({ query = '', ...service }, path) {
  const headers = { Accept: 'application/x-ndjson', ...authorization(service) };
  const answer = await fetch(`${service.url.replace(/\/$/, '')}/${path}?${query}`, { headers }).catch(
    (error) => unreachable(service, error.cause ?? error),
  );
  if (answer.status !== 200) fail(`The service answered ${answer.status}: ${await answer.text()}`);
  // A reader that has read enough, such as head, ends the export.
  process.stdout.on('error', ({ code }) => process.exit(code === 'EPIPE' ? 0 : 1));
  await pipeline(Readable.fromWeb(answer.body), process.stdout);
}

/** Sends records to the import of a resource, and yields the result of each while lines are still sent. */
async function* resultsOf(service, path, lines) {
  const target = new URL(`${path}/import`, `${service.url.replace(/\/$/, '')}/`);
  const send = target.protocol === 'https:' ? requestHttps : requestHttp;
  const headers = { 'Content-Type': 'application/x-ndjson', ...authorization(service) };
  const request = send(target, { method: 'POST', headers });
  const lost = (error) => unreachable(service, error);
  request.on('error', lost);
  Readable.from(lines).pipe(request);
  const [response] = await once(request, 'response');
  response.on('error', lost);
  if (response.statusCode !== 200) {
    const text = (await response.toArray()).join('');
    fail(`${target.href} answered ${response.statusCode}: ${text}`);
  }
  for await (const line of createInterface({ input: response })) yield JSON.parse(line);
}

function authorization({ token }) {
  return token === undefined ? {} : { Authorization: `Bearer ${token}` };
}

function unreachable({ url }, { message }) {
  fail(`The service at ${url} cannot be reached: ${message}. Start it with npm start, or pass --url.`);
}
