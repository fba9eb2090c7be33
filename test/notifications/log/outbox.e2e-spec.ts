/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { Allow } from 'class-validator';
import { Schema, Types } from 'mongoose';
import { IsReference, IsText, type Outbox, Outboxes, schemaOf } from '../../../src/index.js';
import { PostsModule } from '../../../src/posts/posts.module.js';
import { useResourceApp } from '../../support/resource-app.js';
import { OF_TENANT, resource } from '../../support/resource.js';
import { commandsOf } from '../../support/sent-commands.js';
import { ACME, acme as token, globex } from '../../support/tenants.js';
import { KEPT } from '../../support/whole-records.js';

const topics = resource({ name: 'topics' });
const replies = resource({
  name: 'replies',
  fields: {
    text: IsText({ min: 1, max: 100 }),
    any: [Prop({ type: Schema.Types.Mixed }), Allow()],
    topic: IsReference(() => topics.entity, { optional: true }),
  },
  ...OF_TENANT,
  kept: { ...OF_TENANT.kept, secret: Prop({ type: String, select: false }) },
  references: { topic: { to: topics.entity, check: false, onDelete: 'unset' } },
  events: true,
  bulk: true,
});
// Middleware of its own, so that records are saved as documents.
replies.schema = schemaOf(replies.entity).pre('save', function () {
  this.set('secret', 'made by middleware');
});

const LATER = new Date('2100-01-01');
const REPRESENTATION = { Prefer: 'return=representation' };

describe('the outbox of a resource', () => {
  const app = useResourceApp(PostsModule, topics, replies);
  beforeEach(() => app.empty());

  const outboxOf = (name: string) => app.app.get(Outboxes, { strict: false }).of(name) as Outbox;
  const pending = (name = 'posts') => outboxOf(name).pending(LATER, 1_000);
  const settle = async () => outboxOf('posts').settle(await pending());
  const create = (title = 'Tea') => app.create('/posts/api', { title }, token);
  const change = (id: string, changes: object, headers = {}) =>
    app.patch(`/posts/api/${id}`, changes, { token, headers });

  it('has an entry for each write of a post, with the record as clients see it now', async () => {
    const id = await create();
    await change(id, { title: 'Coffee', tags: ['hot'] });
    await app.del(`/posts/api/${id}`, { token });
    await app.post(`/posts/api/${id}/restore`, {}, { token });
    const events = await pending();
    const { body } = await app.get(`/posts/api/${id}`);
    const records = events.map(({ record }) => JSON.parse(JSON.stringify(record)) as object);
    expect(records).toEqual(Array(4).fill(body));
    const eventId = expect.stringMatching(/^evt_[0-9a-f]{24}$/) as string;
    const ofAll = { id: eventId, resource: 'posts', tenant: ACME, time: KEPT.createdAt };
    expect(events).toMatchObject([
      { ...ofAll, id: `evt_${id}`, action: 'create', changed: ['title', 'tenant'] },
      { ...ofAll, action: 'update', changed: ['title', 'tags'] },
      { ...ofAll, action: 'del', changed: ['deletedAt'] },
      { ...ofAll, action: 'restore', changed: ['deletedAt'] },
    ]);
    expect(new Set(events.map((event) => event.id)).size).toBe(4);
  });

  it('is written by the command that writes the record', async () => {
    const id = await create();
    const sent = await commandsOf(app, async () => {
      await change(id, { title: 'Coffee' });
      await create();
    });
    expect(sent.map(({ name }) => name)).toEqual(['findAndModify posts', 'insert posts']);
  });

  it('has no entry for a write that was refused, or that changed nothing: revision and updatedAt stay', async () => {
    const body = { title: 'Tea', tags: ['hot', 'green'] };
    const id = await app.create('/posts/api', body, token);
    const before = await app.get(`/posts/api/${id}`);
    await settle();
    await change(id, { title: '' });
    await change(id, { title: 'x' }, { 'If-Match': '"9"' });
    await app.patch(`/posts/api/${id}`, { title: 'Mine' }, { token: globex });
    await app.del(`/posts/api/${id}`, { token: globex });
    await app.post('/posts/api', { title: '' }, { token });
    for (const same of [{}, { title: 'Tea' }, body, { content: null }, { ...body, content: null }]) {
      const answer = await change(id, same, REPRESENTATION);
      expect([answer.status, answer.body]).toEqual([200, before.body]);
      expect(answer.headers.get('etag')).toBe(before.headers.get('etag'));
    }
    expect(await pending()).toEqual([]);
    await change(id, { title: 'Tea', tags: ['green', 'hot'] });
    expect(await pending()).toMatchObject([{ action: 'update', record: { tags: ['green', 'hot'] } }]);
  });

  it.each<[unknown, unknown]>([
    [['hot', 'green'], 'hot'],
    [[['hot']], ['hot']],
  ])('stores a change of the list %j to its entry %j', async (list, entry) => {
    const id = await app.create('/replies', { text: 'one', any: list }, token);
    await app.patch(`/replies/${id}`, { any: entry }, { token });
    expect((await app.get(`/replies/${id}`, { token })).body.any).toEqual(entry);
  });

  it('has an entry for each record of creates that are stored together, which are settled by one command', async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, (_, i) => create(`Tea ${i}`)));
    expect(await outboxOf('posts').pending(new Date(0), 10)).toEqual([]);
    expect(await outboxOf('posts').pending(LATER, 1)).toHaveLength(1);
    const events = await pending();
    expect(events.map(({ id }) => id).sort()).toEqual(ids.map((id) => `evt_${id}`).sort());
    const sent = await commandsOf(app, async () => {
      await Promise.all(events.map((event) => outboxOf('posts').settle([event])));
    });
    expect(sent.map(({ name }) => name)).toEqual(['update posts']);
    expect(await pending()).toEqual([]);
  });

  it('serves records with middleware, items of a bulk, and references that are taken away', async () => {
    const topic = await app.create('/topics', { text: 'Tea' });
    const operations = [{ create: { text: 'one', topic } }, { create: { text: 'two' } }];
    const { results } = (await app.post('/replies/bulk', { operations }, { token })).body;
    const [one, two] = (results as { _id: string }[]).map(({ _id }) => _id);
    await app.del(`/topics/${topic}`);
    const events = await pending('replies');
    expect(events.map(({ id, action, changed }) => [action === 'create' ? id : action, changed])).toEqual([
      [`evt_${one}`, ['text', 'topic', 'tenant']],
      [`evt_${two}`, ['text', 'tenant']],
      ['update', ['topic']],
    ]);
    expect(JSON.stringify(events)).not.toContain('made by middleware');
  });

  it('forgets settled events, and changes nothing that clients see', async () => {
    const id = await create();
    await change(id, { title: 'Coffee' });
    const look = async () => {
      const { headers, text } = await app.get(`/posts/api/${id}`);
      return { etag: headers.get('etag'), text };
    };
    const before = await look();
    const [created, updated] = await pending();
    await outboxOf('posts').settle([created as never]);
    expect((await pending()).map((event) => event.id)).toEqual([updated?.id]);
    await outboxOf('posts').settle([updated as never, updated as never]);
    expect(await pending()).toEqual([]);
    expect(await look()).toEqual(before);
    const stored = await app.database.collection('posts').findOne({});
    expect(stored).not.toHaveProperty('_outbox');
  });

  it('finds pending events through its sparse index', async () => {
    const posts = app.database.collection('posts');
    const tenant = new Types.ObjectId(ACME);
    await posts.insertMany(Array.from({ length: 50 }, () => ({ title: 'Old', tenant })));
    await create();
    const find = (await commandsOf(app, pending)).find(({ name }) => name === 'find posts');
    const { filter, limit } = find?.command as { filter: object; limit: number };
    const explained = await posts.find(filter).limit(limit).explain('executionStats');
    expect(JSON.stringify(explained)).toContain('"_outbox._id_1"');
    expect(explained.executionStats).toMatchObject({ nReturned: 1, totalDocsExamined: 1 });
    const index = { key: { '_outbox._id': 1 }, sparse: true };
    expect(await posts.indexes()).toContainEqual(expect.objectContaining(index));
  });

  it('is not a field for clients', async () => {
    const id = await create();
    await change(id, { tags: ['hot'] });
    const answers = [
      await app.post('/posts/api', { title: 'Tea' }, { token, headers: REPRESENTATION }),
      await change(id, { title: 'Coffee' }, REPRESENTATION),
      await app.get('/posts/api', { headers: { Accept: 'application/x-ndjson' } }),
    ];
    for (const query of ['', '?limit=1', '?q=coffee', `/${id}`])
      answers.push(await app.get(`/posts/api${query}`));
    for (const { status, text, headers } of answers) {
      expect([200, 201]).toContain(status);
      expect(text + JSON.stringify([...headers])).not.toMatch(/_outbox|evt_/);
    }
    const refused = [
      await app.post('/posts/api', { title: 'Tea', _outbox: [] }, { token }),
      await change(id, { _outbox: null }),
      await change(id, { '_outbox.0': {} }),
    ];
    for (const query of ['_outbox[exists]=true', '_outbox._id=evt_1', 'fields=_outbox', 'sort=_outbox'])
      refused.push(await app.get(`/posts/api?${query}`));
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 400));
  });
});
