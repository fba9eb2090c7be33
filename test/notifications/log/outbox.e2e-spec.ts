/** @mongodb */
import { Prop, Schema } from '@nestjs/mongoose';
import { Schema as MongooseSchema, Types } from 'mongoose';
import { CrudModule, type Outbox, Outboxes } from '../../../src/common/crud/index.js';
import { IsReference, IsText, schemaOf } from '../../../src/common/fields/index.js';
import { currentTenant } from '../../../src/common/tenancy/index.js';
import { PostsModule } from '../../../src/posts/posts.module.js';
import { useResourceApp } from '../../support/resource-app.js';
import { commandsOf } from '../../support/sent-commands.js';
import { ACME, globex, tokenOf } from '../../support/tenants.js';

class TopicInput {
  @IsText({ min: 1, max: 100 })
  name!: string;
}

@Schema({ timestamps: true })
class Topic extends TopicInput {}

class ReplyInput {
  @IsText({ min: 1, max: 100 })
  text!: string;

  @IsReference(() => Topic, { optional: true })
  topic?: string;
}

@Schema({ timestamps: true })
class Reply extends ReplyInput {
  @Prop({ type: String, select: false })
  secret?: string;

  @Prop({ type: Types.ObjectId })
  tenant?: Types.ObjectId;

  @Prop({ type: Date })
  deletedAt?: Date;
}

/** A schema with middleware of its own, so that records are saved as documents. */
function replySchema(): MongooseSchema {
  const schema = schemaOf(Reply);
  schema.pre('save', function () {
    this.set('secret', 'made by middleware');
  });
  return schema;
}

const TENANT = { tenant: currentTenant };
const LATER = new Date('2100-01-01');

describe('the outbox of a resource', () => {
  const token = tokenOf(ACME);
  const app = useResourceApp(
    PostsModule,
    CrudModule.forFeature({ entity: Topic, input: TopicInput, name: 'topics' }),
    CrudModule.forFeature({
      entity: Reply,
      input: ReplyInput,
      name: 'replies',
      schema: replySchema(),
      isolationFields: { create: TENANT, update: TENANT, del: TENANT },
      archive: { field: 'deletedAt' },
      references: { topic: { to: Topic, check: false, onDelete: 'unset' } },
      events: true,
      bulk: true,
    }),
  );
  beforeEach(() => app.empty());

  const outboxOf = (name: string) => app.app.get(Outboxes, { strict: false }).of(name) as Outbox;
  const pending = (name = 'posts') => outboxOf(name).pending(LATER, 1_000);
  const create = async (title = 'Tea', headers = {}): Promise<string> =>
    (await app.post('/posts/api', { title }, { token, headers })).body._id as string;

  it('has an entry for each write of a post, with the record as clients see it now', async () => {
    const id = await create();
    await app.patch(`/posts/api/${id}`, { title: 'Coffee', tags: ['hot'] }, { token });
    await app.del(`/posts/api/${id}`, { token });
    await app.post(`/posts/api/${id}/restore`, {}, { token });
    const events = await pending();
    const { body } = await app.get(`/posts/api/${id}`);
    expect(events.map(({ record }) => JSON.parse(JSON.stringify(record)) as unknown)).toEqual(
      Array.from({ length: 4 }, () => body as unknown),
    );
    expect(events.map(({ action, changed }) => [action, changed])).toEqual([
      ['create', ['title', 'tenant']],
      ['update', ['title', 'tags']],
      ['del', ['deletedAt']],
      ['restore', ['deletedAt']],
    ]);
    expect(events[0]?.id).toBe(`evt_${id}`);
    expect(new Set(events.map((event) => event.id)).size).toBe(4);
    for (const event of events) {
      expect(event).toMatchObject({
        id: expect.stringMatching(/^evt_[0-9a-f]{24}$/),
        resource: 'posts',
        tenant: ACME,
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      });
    }
  });

  it('is written by the command that writes the record', async () => {
    const id = await create();
    const sent = await commandsOf(app, async () => {
      await app.patch(`/posts/api/${id}`, { title: 'Coffee' }, { token });
      await create();
    });
    expect(sent.map(({ name }) => name)).toEqual(['findAndModify posts', 'insert posts']);
  });

  it('has no entry for a write that was refused, or that changed nothing', async () => {
    const id = await create();
    await outboxOf('posts').settle(await pending());
    await app.patch(`/posts/api/${id}`, { title: '' }, { token });
    await app.patch(`/posts/api/${id}`, {}, { token });
    await app.patch(`/posts/api/${id}`, { title: 'Mine' }, { token: globex });
    await app.patch(`/posts/api/${id}`, { title: 'x' }, { token, headers: { 'If-Match': '"9"' } });
    await app.del(`/posts/api/${id}`, { token: globex });
    await app.post('/posts/api', { title: '' }, { token });
    expect(await pending()).toEqual([]);
  });

  it('has no entry for values that the post has already: its revision and updatedAt stay', async () => {
    const body = { title: 'Tea', tags: ['hot', 'green'] };
    const id = (await app.post('/posts/api', body, { token })).body._id as string;
    const before = await app.get(`/posts/api/${id}`);
    await outboxOf('posts').settle(await pending());
    const same = [{ title: 'Tea' }, body, { content: null }, { ...body, content: null }];
    for (const changes of same) {
      const headers = { Prefer: 'return=representation' };
      const answer = await app.patch(`/posts/api/${id}`, changes, { token, headers });
      expect([answer.status, answer.body]).toEqual([200, before.body]);
      expect(answer.headers.get('etag')).toBe(before.headers.get('etag'));
    }
    expect(await pending()).toEqual([]);
    await app.patch(`/posts/api/${id}`, { title: 'Tea', tags: ['green', 'hot'] }, { token });
    expect(await pending()).toMatchObject([{ action: 'update', record: { tags: ['green', 'hot'] } }]);
  });

  it('has an entry for each record of creates that are stored together', async () => {
    const ids = await Promise.all(Array.from({ length: 30 }, (_, i) => create(`Tea ${i}`)));
    const events = await pending();
    expect(events.map(({ id }) => id).sort()).toEqual(ids.map((id) => `evt_${id}`).sort());
  });

  it('serves records with middleware, items of a bulk, and references that are taken away', async () => {
    const topic = (await app.post('/topics', { name: 'Tea' })).body._id as string;
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

  it('returns events older than a given time, up to a number of records', async () => {
    await create('one');
    await create('two');
    expect(await outboxOf('posts').pending(new Date(0), 10)).toEqual([]);
    expect(await outboxOf('posts').pending(LATER, 1)).toHaveLength(1);
  });

  it('forgets settled events, and changes nothing that clients see', async () => {
    const id = await create();
    await app.patch(`/posts/api/${id}`, { title: 'Coffee' }, { token });
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

  it('settles the events of many records by one command', async () => {
    for (let i = 0; i < 20; i++) await create(`Tea ${i}`);
    const events = await pending();
    const sent = await commandsOf(app, async () => {
      await Promise.all(events.map((event) => outboxOf('posts').settle([event])));
    });
    expect(sent.map(({ name }) => name)).toEqual(['update posts']);
    expect(await pending()).toEqual([]);
  });

  it('finds pending events through its sparse index', async () => {
    await app.database
      .collection('posts')
      .insertMany(
        Array.from({ length: 50 }, (_, i) => ({ title: `Old ${i}`, tenant: new Types.ObjectId(ACME) })),
      );
    await create();
    const find = (await commandsOf(app, pending)).find(({ name }) => name === 'find posts');
    const { filter, limit } = find?.command as { filter: object; limit: number };
    const explained = await app.database
      .collection('posts')
      .find(filter)
      .limit(limit)
      .explain('executionStats');
    expect(JSON.stringify(explained)).toContain('"_outbox._id_1"');
    expect(explained.executionStats).toMatchObject({ nReturned: 1, totalDocsExamined: 1 });
    const indexes = await app.database.collection('posts').indexes();
    expect(indexes).toContainEqual(expect.objectContaining({ key: { '_outbox._id': 1 }, sparse: true }));
  });

  it('is not a field for clients', async () => {
    const id = await create();
    await app.patch(`/posts/api/${id}`, { tags: ['hot'] }, { token });
    const headers = { Prefer: 'return=representation' };
    const answers = [
      await app.post('/posts/api', { title: 'Tea' }, { token, headers }),
      await app.patch(`/posts/api/${id}`, { title: 'Coffee' }, { token, headers }),
      await app.get(`/posts/api/${id}`),
      await app.get('/posts/api'),
      await app.get('/posts/api?limit=1'),
      await app.get('/posts/api?q=coffee'),
      await app.get('/posts/api', { headers: { Accept: 'application/x-ndjson' } }),
    ];
    for (const { status, text, headers: sent } of answers) {
      expect([200, 201]).toContain(status);
      expect(text + JSON.stringify([...sent])).not.toMatch(/_outbox|evt_/);
    }
    const refused = [
      await app.get('/posts/api?_outbox[exists]=true'),
      await app.get('/posts/api?_outbox._id=evt_1'),
      await app.get('/posts/api?fields=_outbox'),
      await app.get('/posts/api?sort=_outbox'),
      await app.post('/posts/api', { title: 'Tea', _outbox: [] }, { token }),
      await app.patch(`/posts/api/${id}`, { _outbox: null }, { token }),
      await app.patch(`/posts/api/${id}`, { '_outbox.0': {} }, { token }),
    ];
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 400));
  });
});
