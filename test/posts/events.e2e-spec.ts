import { EventEmitter2 } from '@nestjs/event-emitter';
import type { EntityEvent } from '../../src/common/events/index.js';
import { Post } from '../../src/posts/post.schema.js';
import { ANONYMOUS, scopeOf, TenantScope } from '../../src/common/tenancy/index.js';
import { eventually } from '../support/eventually.js';
import { onEvent } from '../support/on-event.js';
import { feature } from '../support/resource.js';
import { serviceIn, useResourceApp } from '../support/resource-app.js';
import { ACME, acme } from '../support/tenants.js';
import { useTestApp } from '../support/test-app.js';

const POST = { title: 'Hello', content: 'World', tags: ['news'] };
const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

type Listener = (event: EntityEvent) => unknown;

describe('the event posts.afterCreate', () => {
  const app = useTestApp({ env: { HOOK_WARN_MS: '50' } });
  const added: Listener[] = [];

  beforeEach(async () => {
    await app.empty();
    app.logLines.length = 0;
  });
  afterEach(() => added.splice(0).forEach((listener) => emitter().off('posts.afterCreate', listener)));

  const emitter = () => app.app.get(EventEmitter2);
  const recorded = () => app.database.collection('events');

  function listen(listener: Listener): void {
    emitter().on('posts.afterCreate', listener);
    added.push(listener);
  }

  /** Creates a post, which must succeed, and waits until its event is recorded. */
  async function create(): Promise<string> {
    const { status, body } = await app.post('/posts/api', POST, { token: acme });
    expect([status, body]).toEqual([201, { _id: expect.stringMatching(/^[0-9a-f]{24}$/) }]);
    const event = { _id: `evt_${body._id}` as never };
    await eventually(async () => expect(await recorded().countDocuments(event)).toBe(1));
    return body._id as string;
  }

  /** What a listener and a notification are told: the post as a client sees it, and nothing else. */
  async function recordOf(id: string): Promise<object> {
    const { body } = await app.get(`/posts/api/${id}`);
    return { ...body, createdAt: new Date(body.createdAt), updatedAt: new Date(body.updatedAt) };
  }

  it('is the only one of its kind: a purge tells nobody what the archiving has told, nor does a refused create', async () => {
    const events = onEvent(app, 'posts.afterCreate');
    expect((await app.post('/posts/api', { title: '' }, { token: acme })).status).toBe(400);
    expect((await app.post('/posts/api', POST)).status).toBe(401);
    expect((await app.post('/posts/api', { ...POST, tenant: ACME }, { token: acme })).status).toBe(400);
    const ids = [await create()];
    await app.del(`/posts/api/${ids[0]}`, { token: acme });
    await serviceIn(app, Post).purge(scopeOf({ tenant: ACME }), ids[0] ?? '');
    ids.push(await create());
    expect(events.map(({ id }) => id)).toEqual(ids.map((id) => `evt_${id}`));
    const types = (await recorded().find().toArray()).map(({ type }) => type as string);
    expect(types.sort()).toEqual(['posts.archived', 'posts.created', 'posts.created']);
  });

  it('carries the stored record, the tenant, the action and the time, and is recorded', async () => {
    const events = onEvent(app, 'posts.afterCreate');
    const id = await create();
    const record = await recordOf(id);
    const moments = { createdAt: expect.any(Date), updatedAt: expect.any(Date) };
    expect(record).toEqual({ ...POST, _id: id, tenant: ACME, ...moments });
    const time = expect.stringMatching(TIMESTAMP);
    expect(events).toEqual([
      {
        ...{ id: `evt_${id}`, resource: 'posts', action: 'create', tenant: ACME, owner: ACME, record, time },
        changed: ['title', 'content', 'tags', 'tenant'],
      },
    ]);
    const event = await recorded().findOne({});
    expect(event).toEqual({
      _id: `evt_${id}`,
      seq: expect.any(Number),
      tenant: ACME,
      type: 'posts.created',
      at: expect.any(Date),
      body: expect.any(String),
    });
    expect(JSON.parse(event?.body as string)).toEqual({
      type: 'posts.created',
      timestamp: (event?.at as Date).toISOString(),
      data: (await app.get(`/posts/api/${id}`)).body,
    });
  });

  const broken = new Error('a broken listener');
  const thrower = (thrown: unknown) => () => {
    throw thrown;
  };
  it.each<[string, Listener]>([
    ['throws', thrower(broken)],
    ['rejects', () => Promise.reject(broken)],
    ['throws something that is no error', thrower('a broken listener')],
  ])(
    'a listener that %s changes nothing for others, and is logged with the event',
    async (_how, listener) => {
      listen(listener);
      const events = onEvent(app, 'posts.afterCreate');
      const id = await create();
      expect(events).toEqual([expect.objectContaining({ record: await recordOf(id) })]);
      const logged = app.logLines.filter(({ level }) => level === 'error');
      // Nothing of what the post says.
      const ids = { eventId: `evt_${id}`, record: id, tenant: ACME };
      const event = { event: 'posts.afterCreate', action: 'create', context: 'Hooks' };
      const msg = 'A hook or listener of posts.afterCreate failed';
      const time = expect.stringMatching(TIMESTAMP);
      expect(logged).toEqual([{ ...ids, ...event, level: 'error', time, msg, error: expect.anything() }]);
      expect(JSON.stringify(logged)).toContain('a broken listener');
    },
  );

  it('a listener that never resolves does not hold up the client, and is logged as slow', async () => {
    listen(() => new Promise(() => undefined));
    const record = await create();
    const msg = 'A hook of posts.afterCreate takes longer than 50 ms';
    const line = { level: 'warn', context: 'Hooks', event: 'posts.afterCreate', msg, record };
    await eventually(() => expect(app.logLines).toContainEqual(expect.objectContaining(line)));
  });
});

describe('the afterCreate hook of a resource', () => {
  let hook: Listener = () => undefined;
  let before: () => unknown = () => undefined;
  const hooks = { beforeCreate: () => before(), afterCreate: (event: EntityEvent) => hook(event) };
  const app = useResourceApp(feature({ name: 'notes', hooks }));
  beforeEach(() => {
    app.logLines.length = 0;
    before = () => undefined;
  });

  it('gets the stored record, without a tenant if nothing isolates the create', async () => {
    const events: EntityEvent[] = [];
    hook = (event) => events.push(event);
    const { body } = await app.post('/notes', { text: 'Buy milk' });
    expect(events).toEqual([
      {
        resource: 'notes',
        action: 'create',
        record: { _id: body._id, text: 'Buy milk', createdAt: expect.any(Date), updatedAt: expect.any(Date) },
        changed: ['text'],
        input: { text: 'Buy milk' },
        scope: expect.any(TenantScope),
        caller: ANONYMOUS,
        params: {},
        tenant: undefined,
        time: expect.stringMatching(TIMESTAMP),
      },
    ]);
  });

  it('waits for a slow beforeCreate hook, which is logged', async () => {
    const slow = expect.objectContaining({
      level: 'warn',
      event: 'notes.beforeCreate',
      msg: 'A hook of notes.beforeCreate takes longer than 50 ms',
    });
    before = () => eventually(() => expect(app.logLines).toContainEqual(slow));
    expect((await app.post('/notes', { text: 'Buy milk' })).status).toBe(201);
    expect(app.logLines).toContainEqual(slow);
  });

  it('cannot change what the client gets', async () => {
    hook = ({ record }) => Object.assign(record as object, { text: 'Forged', extra: true });
    const headers = { Prefer: 'return=representation' };
    const { body } = await app.post('/notes', { text: 'Buy milk' }, { headers });
    const moments = { createdAt: expect.any(String), updatedAt: expect.any(String) };
    expect(body).toEqual({ _id: body._id, text: 'Buy milk', ...moments });
  });
});
