import { parseArgs } from 'node:util';
import { fail } from './records/fail.js';
import { importLines, SERVICE_OPTIONS } from './records/import-lines.js';
import { startProgress } from './records/progress.js';

/**
 * `npm run seed -- --todos 100000` creates that many todos in the running service; every run creates the same
 * ones.
 */
const { values } = parseArgs({ options: { ...SERVICE_OPTIONS, todos: { type: 'string' } } });
const count = Number(values.todos);
if (!(Number.isInteger(count) && count > 0))
  fail('Usage: npm run seed -- --todos 100000 [--url http://127.0.0.1:3000]');

const VERBS = ['Water', 'Paint', 'Repair', 'Sell', 'Clean', 'Describe', 'Photograph', 'Move'];
const THINGS = [
  'the plants',
  'the fence',
  'the bicycle',
  'the piano',
  'the cellar',
  'the garden',
  'the boat',
];
const DAY_MS = 86_400_000;

function* todos() {
  const start = Date.UTC(2026, 0, 1);
  for (let i = 0; i < count; i += 1) {
    const title = `${VERBS[i % VERBS.length]} ${THINGS[i % THINGS.length]}, no. ${i + 1}`;
    const dueAt = i % 3 === 0 ? undefined : new Date(start + (i % 365) * DAY_MS).toISOString();
    yield `${JSON.stringify({ title, completed: i % 5 === 0, dueAt })}\n`;
  }
}

const progress = startProgress('Created', count);
for await (const { status, detail } of importLines(values, 'todos', todos())) {
  if (status !== 201) fail(`A todo was not created: ${detail}`);
  progress.add(1);
}
progress.end();
