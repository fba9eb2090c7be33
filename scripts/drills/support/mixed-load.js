import { request } from 'node:http';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { tenantOf } from '../../support/installation.js';
import { HttpClient } from './http-client.js';

const TENANTS = 1_000;
/**
 * Number of simultaneous users, each of another tenant in every round, and how long they look at an answer
 * (milliseconds).
 */
const USERS = 20;
const THINK_MS = 100;
/** How long other clients wait between two actions. Unit: milliseconds. */
const SELDOM_MS = 5_000;
/** How long a live stream is read. Unit: milliseconds. */
const STREAM_MS = 3_000;

/**
 * Everything that clients do to a service, at a moderate pace, until it is stopped: well, badly, and halfway.
 */
export class MixedLoad {
  /** Number of unexpected answers, by kind. */
  odd = new Map();
  answered = 0;
  isStopped = false;
  rounds = 0;

  constructor(installation) {
    this.installation = installation;
    this.url = installation.url;
    const seldom = [
      this.readList,
      this.readStream,
      this.importTodos,
      this.repeatKeyed,
      this.readService,
      this.leave,
    ];
    this.working = Promise.all([
      ...Array.from({ length: USERS }, (_, number) =>
        this.repeat(number % 2 ? this.useTodos : this.usePosts),
      ),
      ...seldom.map((act) => this.repeat(act, SELDOM_MS)),
      this.repeat(this.mistake, THINK_MS),
    ]);
  }

  async stop() {
    this.isStopped = true;
    await this.working;
  }

  toString() {
    return `${this.answered} answered as expected, of ${Math.min(this.rounds, TENANTS)} tenants`;
  }

  get toldOdd() {
    return [...this.odd].map(([what, times]) => `${times} times ${what}`).join(', ');
  }

  async repeat(act, waitMs = 0) {
    while (!this.isStopped) {
      const tenant = tenantOf(this.rounds++ % TENANTS);
      const client = new HttpClient(this.url, { Authorization: `Bearer ${this.installation.token(tenant)}` });
      try {
        await act.call(this, client);
      } catch ({ message }) {
        this.note(`${act.name}: ${message}`);
      } finally {
        client.close();
      }
      if (waitMs > 0) await pause(waitMs);
    }
  }

  note(what) {
    this.odd.set(what, (this.odd.get(what) ?? 0) + 1);
  }

  async expect(status, client, method, path, body) {
    const answer = await client.send(method, path, body);
    if (answer.status === status) this.answered += 1;
    else
      this.note(
        `${method} ${path.replaceAll(/[0-9a-f]{24}/g, ':id')}: ${answer.status} ${answer.text.slice(0, 200)}`,
      );
    await pause(THINK_MS * 2 * Math.random());
    return answer;
  }

  async useTodos(client) {
    const created = await this.expect(201, client, 'POST', '/todos', { title: 'Water the plants' });
    const path = `/todos/${JSON.parse(created.text)._id}`;
    await this.expect(200, client, 'GET', path);
    await this.expect(200, client, 'PATCH', path, { completed: true });
    await this.expect(200, client, 'GET', '/todos?limit=20');
    await this.expect(200, client, 'DELETE', path);
    await this.expect(404, client, 'GET', path);
  }

  async usePosts(client) {
    const title = `Release notes ${this.rounds}`;
    const created = await this.expect(201, client, 'POST', '/posts/api', { title, tags: ['news'] });
    const path = `/posts/api/${JSON.parse(created.text)._id}`;
    await this.expect(200, client, 'GET', '/posts/api?q=release&limit=20');
    await this.expect(200, client, 'GET', '/posts/api?tags=news&limit=20&sort=-createdAt&count=none');
    await this.expect(200, client, 'PATCH', path, { content: 'What is new.' });
    await this.expect(200, client, 'DELETE', path);
  }

  async mistake(client) {
    const stranger = new HttpClient(this.url, { Authorization: `Bearer ${Math.random()}` });
    try {
      await this.expect(401, stranger, 'POST', '/posts/api', { title: 'x' });
    } finally {
      stranger.close();
    }
    await this.expect(400, client, 'POST', '/todos', { title: 5, [`unknown${this.rounds}`]: 1 });
    await this.expect(400, client, 'GET', `/todos?unknown${this.rounds}=1`);
    await this.expect(404, client, 'GET', `/nowhere/${this.rounds}`);
  }

  async readList(client) {
    await this.expect(200, client, 'GET', '/todos');
  }

  async importTodos(client) {
    const lines = Array.from({ length: 20 }, (_, i) => `{"title":"Imported ${i}"}`).join('\n');
    const answer = await fetch(`${this.url}/todos/import`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-ndjson' },
      body: lines,
    });
    const ids = (await answer.text()).match(/[0-9a-f]{24}/g);
    const operations = ids.map((_id) => ({ del: { _id } }));
    await this.expect(200, client, 'POST', '/todos/bulk', { operations });
  }

  async repeatKeyed(client) {
    const keyed = new HttpClient(this.url, { ...client.headers, 'Idempotency-Key': `soak-${this.rounds}` });
    try {
      for (let times = 0; times < 2; times++)
        await this.expect(201, keyed, 'POST', '/posts/api', { title: 'Once' });
    } finally {
      keyed.close();
    }
  }

  async readService(client) {
    for (const path of ['/docs/openapi.json', '/health/ready', '/metrics'])
      await this.expect(200, client, 'GET', path);
  }

  async readStream(client) {
    await new Promise((resolve, reject) => {
      const sent = request(`${this.url}/events`, { headers: client.headers, agent: false }, (answer) => {
        answer.resume().on('close', resolve);
        if (answer.statusCode !== 200) this.note(`GET /events: ${answer.statusCode}`);
        setTimeout(() => sent.destroy(), STREAM_MS);
      });
      sent.on('error', reject).end();
    });
  }

  /** Goes away in the middle of a body. */
  async leave() {
    const { hostname, port } = new URL(this.url);
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write(
      'POST /todos HTTP/1.1\r\nHost: drill\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"title"',
    );
    await pause(THINK_MS);
    socket.destroy();
  }
}
