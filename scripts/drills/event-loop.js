import { Installation, tenantOf } from '../support/installation.js';
import { HttpClient } from './support/http-client.js';
import { storeTodos } from './support/todos.js';

const MAX_BLOCKED_MS = 100;
/** For the short form, which runs beside other work. */
const MAX_BLOCKED_SHORT_MS = 1_000;
const TIMES = 5;

/**
 * The largest things that a client may send or ask for, one at a time: none may keep others waiting for long.
 */
export default async function eventLoop({ short, begin }) {
  const maxMs = short ? MAX_BLOCKED_SHORT_MS : MAX_BLOCKED_MS;
  const installation = new Installation();
  const figures = {};
  const failures = [];
  try {
    await installation.startService('off');
    const { url } = installation;
    const client = new HttpClient(url, { Authorization: `Bearer ${installation.token(tenantOf(1))}` });
    begin('records');
    await storeTodos(url, short ? 2_000 : 30_000, 'x'.repeat(500));
    const content = 'word '.repeat(20_000);
    for (let i = 0; i < 100; i++)
      await client.send('POST', '/posts/api', { title: `Post ${i}`, tags: ['large'], content });
    await longestDelay(client);
    for (const [name, { method = 'GET', path, body, headers, statuses = [200] }] of Object.entries(
      heavyRequests(),
    )) {
      begin(name);
      const answered = [];
      // The first time compiles the code for it.
      for (let time = 0; time <= TIMES; time++) {
        const answer = await client.send(method, path, body, headers);
        const ms = await longestDelay(client);
        if (!statuses.includes(answer.status))
          failures.push(`${name}: ${answer.status} ${answer.text.slice(0, 200)}`);
        if (time > 0) answered.push(ms);
      }
      const worst = Math.max(...answered);
      figures[name] = `at most ${worst.toFixed(0)} ms at a time`;
      if (worst > maxMs) failures.push(`${name}: the event loop is blocked for more than ${maxMs} ms`);
    }
    client.close();
    begin('end');
  } finally {
    await installation.remove();
  }
  return { figures, failures };
}

/** The longest delay of the service's event loop since the last call. Unit: milliseconds. */
async function longestDelay(client) {
  const { text } = await client.send('GET', '/metrics');
  return Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)[1]) * 1_000;
}

function heavyRequests() {
  const todo = { title: 'Sweep', description: 'x'.repeat(500) };
  const operations = Array.from({ length: 1_000 }, () => ({ create: todo }));
  const values = Array.from({ length: 100 }, (_, i) => `t${i}`);
  const fields = Array.from({ length: 60_000 }, (_, i) => [`f${i}`, 1]);
  return {
    'a page of 100 posts of 100,000 characters': { path: '/posts/api?limit=100' },
    'a whole list': { path: '/todos' },
    'all posts': { path: '/posts/api' },
    'a search in long texts': { path: '/posts/api?q=word&limit=100' },
    // The database may be too slow for it.
    'a part of a word in all todos': {
      path: '/todos?title[contains]=nothing&limit=100',
      statuses: [200, 503],
    },
    'a bulk of 1,000': { method: 'POST', path: '/todos/bulk', body: { operations } },
    'a query of 10,000 characters': { path: `/todos?${'a=&'.repeat(3_333)}`, statuses: [400, 414] },
    'a long Accept header': { path: '/todos?limit=1', headers: { Accept: '"'.repeat(12_000) } },
    'a post of a megabyte': {
      method: 'POST',
      path: '/posts/api',
      body: { title: 'x', content: 'x'.repeat(1_000_000) },
      statuses: [400],
    },
    'a filter with 100 values': { path: `/todos?title[in]=${values.join()}&limit=100` },
    '60,000 unknown fields': {
      method: 'POST',
      path: '/todos',
      body: Object.fromEntries(fields),
      statuses: [400],
    },
    'the OpenAPI document': { path: '/docs/openapi.json' },
    metrics: { path: '/metrics' },
  };
}
