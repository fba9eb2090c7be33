import { once } from 'node:events';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parse } from 'acorn';
import { readArguments } from '../scripts/support/arguments.js';
import { freePort, startProcess, untilReady } from '../scripts/support/processes.js';
import { Installation, tenantOf } from './support/installation.js';

readArguments(`Usage: node tools/journey.js

Counts the files of which a function runs while the built service carries out a request, and fails if they are
more than budgets.json says.`);

/** What the instrumented process runs before the service: each message begins a recording, or ends it. */
const RECORDER = `
  let files;
  globalThis.__passed = (file) => files?.add(file);
  process.on('message', () => {
    if (files) process.send([...files]);
    files = files ? undefined : new Set();
    if (files) process.send([]);
  });`;

/** Files that work in the background, before and after the answer. */
const BACKGROUND = /^common\/(notifications\/|database\/background-tasks\.)/;

const folder = mkdtempSync(join(tmpdir(), 'journey-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
for (const name of ['package.json', 'node_modules', 'libs', 'public'])
  symlinkSync(resolve(name), join(folder, name));
const dist = join(folder, 'dist');
cpSync('dist', dist, { recursive: true, filter: (path) => !/\/(bundle|pack|reference)$/.test(path) });
for (const name of readdirSync(dist, { recursive: true }).filter((file) => file.endsWith('.js')))
  writeFileSync(join(dist, name), instrumented(readFileSync(join(dist, name), 'utf8'), name));

const installation = new Installation({ uri: '' });
const port = await freePort();
const service = startProcess(
  process.execPath,
  ['--import', `data:text/javascript,${encodeURIComponent(RECORDER)}`, 'dist/main.js'],
  {
    cwd: folder,
    env: { ...installation.env(), HOST: '127.0.0.1', PORT: String(port), LOG_LEVEL: 'info' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  },
);
const url = `http://127.0.0.1:${port}`;
await untilReady(service, async () => (await fetch(`${url}/health/ready`)).ok);

const authorization = `Bearer ${installation.token(tenantOf(1))}`;
const { _id } = await (await send('POST', '/todos', { title: 'one' })).json();
let revision = 0;
const requests = {
  'POST /posts/api': () => send('POST', '/posts/api', { title: 'Tea', content: 'x', tags: ['a'] }),
  'GET /todos': () => send('GET', '/todos?limit=20'),
  'GET /todos with a filter': () => send('GET', '/todos?limit=20&title[contains]=x'),
  'PATCH /todos/:id': () =>
    send('PATCH', `/todos/${_id}`, { title: String(revision) }, { 'if-match': `"${revision++}"` }),
};
const budgets = JSON.parse(readFileSync('budgets.json', 'utf8'));
for (const [name, request] of Object.entries(requests)) {
  // The first ones make what is made once.
  for (let i = 0; i < 4; i++) await request();
  let files;
  // What is not passed each time works in the background.
  for (let i = 0; i < 3; i++) {
    await toggle();
    await request();
    const passed = await toggle();
    files = (files ?? passed).filter((file) => passed.includes(file) && !BACKGROUND.test(file));
  }
  const budget = budgets[`files that ${name} passes`];
  console.log(`${name} passes ${files.length} files; its budget is ${budget}.`);
  if (!(files.length <= budget)) process.exitCode = 1;
}
service.kill('SIGKILL');
await once(service, 'exit');
installation.clear();

async function send(method, path, body, headers) {
  const type = body && { 'content-type': 'application/json' };
  const answer = await fetch(url + path, {
    method,
    headers: { authorization, ...type, ...headers },
    body: JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method} ${path} answered ${answer.status}: ${await answer.text()}`);
  return answer;
}

/** Begins a recording, or ends it, and resolves with the files in it. */
async function toggle() {
  service.send('toggle');
  const [files] = await once(service, 'message');
  return files;
}

/** The source of a module in which each function says so when it begins. */
function instrumented(source, name) {
  const insertions = [];
  const call = `globalThis.__passed?.(${JSON.stringify(name)})`;
  const visit = (node) => {
    if (typeof node?.type !== 'string') return;
    // What SWC makes of decorators is no function of ours.
    if (/Function/.test(node.type) && !node.id?.name?.startsWith('_ts_')) {
      const { start, end, type } = node.body;
      if (type === 'BlockStatement') insertions.push([start + 1, `${call};`]);
      else insertions.push([start, `(${call},`], [end, ')']);
    }
    for (const child of Object.values(node).flat()) visit(child);
  };
  visit(parse(source, { ecmaVersion: 'latest', sourceType: 'module' }));
  let text = source;
  // Behind what encloses it, if both are at the same place.
  insertions.sort(([a, one], [b]) => b - a || (one === ')' ? 1 : -1));
  for (const [at, added] of insertions) text = text.slice(0, at) + added + text.slice(at);
  return text;
}
