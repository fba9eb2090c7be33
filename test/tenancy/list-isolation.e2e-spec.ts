/** @mongodb */
import { Prop, Schema } from '@nestjs/mongoose';
import { Schema as MongooseSchema, Types } from 'mongoose';
import { CrudModule, crudOptions, CrudService, getCrudServiceToken } from '../../src/common/crud/index.js';
import { IsText, IsTextList } from '../../src/common/fields/index.js';
import { claim, currentTenant, scopeOf } from '../../src/common/tenancy/index.js';
import { useResourceApp } from '../support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../support/tenants.js';

class MessageInput {
  @IsText({ max: 80 }) text!: string;
  @IsTextList({ maxEntries: 9, entry: { max: 20 }, optional: true }) participants?: string[];
  @IsTextList({ maxEntries: 9, entry: { max: 20 }, optional: true }) tags?: string[];
}

@Schema({ timestamps: true })
class Message extends MessageInput {
  @Prop({ type: Date }) deletedAt?: Date;
}

class PlanInput {
  @IsText({ max: 80 }) text!: string;
}

@Schema({ timestamps: true })
class Plan extends PlanInput {
  @Prop({ type: [Types.ObjectId] }) tenants?: Types.ObjectId[];
  @Prop({ type: [String] }) people?: string[];
}

const messages = crudOptions({
  entity: Message,
  input: MessageInput,
  name: 'messages',
  isolationFields: { all: { participants: claim('sub') } },
  query: { filter: ['tags', 'participants'], sort: ['text'], search: ['text', 'tags'] },
  archive: { field: 'deletedAt' },
  bulk: true,
});

const plans = crudOptions({
  entity: Plan,
  input: PlanInput,
  name: 'plans',
  isolationFields: { all: { tenants: currentTenant, people: claim('sub') } },
  query: { search: ['text'] },
  hooks: {
    beforeCreate: ({ record }) => {
      if (record.text === 'shared') record.people?.push('bob');
      if (record.text === 'moved') record.people = ['bob'];
    },
    beforeUpdate: ({ record }) => {
      if (record.text === 'left') record.people = ['bob'];
      if (record.text === 'shared') record.people?.push('bob');
    },
  },
});

describe('isolation by a list', () => {
  const app = useResourceApp(CrudModule.forFeature(messages), CrudModule.forFeature(plans));
  const ada = tokenOf(ACME, { sub: 'ada' });
  const bob = tokenOf(ACME, { sub: 'bob' });
  const eve = tokenOf(ACME, { sub: 'eve' });
  beforeEach(() => app.empty());

  const create = async (body: object, token = ada, path = '/messages') => {
    const { status, body: record } = await app.post(path, body, { token });
    expect(status).toBe(201);
    return record._id as string;
  };
  const textsOf = async (query: string, token: string) =>
    ((await app.get(`/messages${query}`, { token })).body as Message[]).map(({ text }) => text);

  it('lets everybody in who is in the list, and a create adds the caller', async () => {
    const id = await create({ text: 'tea', participants: ['bob'] });
    const { body } = await app.get(`/messages/${id}`, { token: bob });
    expect(body.participants).toEqual(['bob', 'ada']);
    expect((await app.get(`/messages/${id}`, { token: ada })).status).toBe(200);
    expect((await app.get(`/messages/${id}`, { token: eve })).status).toBe(404);
    expect((await app.patch(`/messages/${id}`, { text: 'x' }, { token: eve })).status).toBe(404);
    expect((await app.del(`/messages/${id}`, { token: eve })).status).toBe(404);
    await create({ text: 'own', participants: ['ada'] });
    await create({ text: 'alone' });
    const stored = await app.database.collection('messages').find().sort({ _id: 1 }).toArray();
    expect(stored.map(({ participants }) => participants as string[])).toEqual([
      ['bob', 'ada'],
      ['ada'],
      ['ada'],
    ]);
  });

  it('scopes lists, counts, pages, searches, filters and the archive', async () => {
    const id = await create({ text: 'green tea', participants: ['bob'], tags: ['a', 'b'] });
    await create({ text: 'black tea', tags: ['a', 'c'] });
    await create({ text: 'red tea', tags: ['a'] }, eve);
    for (const [token, expected] of [
      [ada, ['black tea', 'green tea']],
      [bob, ['green tea']],
      [eve, ['red tea']],
    ] as const) {
      expect(await textsOf('?sort=text', token)).toEqual(expected);
      expect((await textsOf('?q=tea', token)).sort()).toEqual(expected);
      expect((await textsOf('?tags=a', token)).sort()).toEqual(expected);
      expect((await app.get('/messages/count', { token })).body).toEqual({ count: expected.length });
      const page = await app.get('/messages?sort=-text&limit=1', { token });
      expect(page.body.results).toMatchObject([{ text: expected.at(-1) }]);
    }
    expect(await textsOf('?participants=bob', ada)).toEqual(['green tea']);
    expect(await textsOf('?participants=eve', ada)).toEqual([]);
    await app.del(`/messages/${id}`, { token: ada });
    expect(await textsOf('?archived=only', bob)).toEqual(['green tea']);
    expect(await textsOf('?archived=only', eve)).toEqual([]);
  });

  it('lets a change add and remove others, but not the caller', async () => {
    const id = await create({ text: 'tea', participants: ['bob'] });
    const patch = async (participants: string[] | null, token = ada) => {
      const { status, body } = await app.patch(`/messages/${id}`, { participants }, { token });
      return [status, body.errors?.[0]];
    };
    expect(await patch(['ada', 'eve'])).toEqual([200, undefined]);
    expect((await app.get(`/messages/${id}`, { token: eve })).status).toBe(200);
    const fault = {
      pointer: '/participants',
      detail: '"participants" must keep the entry that lets you change the record.',
    };
    expect(await patch(['bob'])).toEqual([400, fault]);
    expect(await patch([])).toEqual([400, fault]);
    expect(await patch(null)).toEqual([400, fault]);
    expect((await app.get(`/messages/${id}`, { token: ada })).body.participants).toEqual(['ada', 'eve']);
  });

  it('rejects a create whose list is full without the caller, as any list that is too long', async () => {
    const eight = Array.from({ length: 8 }, (_, i) => `person ${i}`);
    const id = await create({ text: 'tea', participants: [...eight, 'ada'] });
    expect(await create({ text: 'tea', participants: eight })).toBeDefined();
    const long = { participants: [...eight, 'bob', 'ada'] };
    const { body } = await app.patch(`/messages/${id}`, long, { token: ada });
    expect(body.errors).toMatchObject([{ pointer: '/participants' }]);
    const full = { text: 'tea', participants: [...eight, 'bob'] };
    const created = await app.post('/messages', full, { token: ada });
    expect([created.status, created.body.errors]).toEqual([400, body.errors]);
    const bulk = await app.post('/messages/bulk', { operations: [{ create: full }] }, { token: ada });
    expect(bulk.body.results).toMatchObject([{ status: 400 }]);
    expect(await app.database.collection('messages').countDocuments()).toBe(2);
  });

  it('works in bulk, and in code', async () => {
    const operations = [{ create: { text: 'tea', participants: ['bob'] } }];
    const { body } = await app.post('/messages/bulk', { operations }, { token: ada });
    expect(body.results).toMatchObject([{ status: 201 }]);
    expect(await textsOf('', bob)).toEqual(['tea']);
    const service = app.app.get<CrudService<Message, MessageInput>>(getCrudServiceToken(Message), {
      strict: false,
    });
    const made = await service.create(scopeOf({ participants: 'eve' }), { text: 'in code' });
    expect(await textsOf('', eve)).toEqual(['in code']);
    const hidden = service.get(scopeOf({ participants: 'bob' }), made._id);
    await expect(hidden).rejects.toThrow('Message not found');
  });

  it('holds for two lists, and hooks may add to them but not move a record', async () => {
    const shared = await create({ text: 'shared' }, ada, '/plans');
    const own = await create({ text: 'own' }, ada, '/plans');
    const status = async (id: string, token: string) => (await app.get(`/plans/${id}`, { token })).status;
    const elsewhere = tokenOf(GLOBEX, { sub: 'ada' });
    expect([await status(shared, ada), await status(shared, bob)]).toEqual([200, 200]);
    expect(await status(own, bob)).toBe(404);
    expect(await status(own, elsewhere)).toBe(404);
    expect((await app.get('/plans?q=own', { token: ada })).body).toMatchObject([{ _id: own }]);
    expect((await app.post('/plans', { text: 'moved' }, { token: ada })).status).toBe(500);
    expect((await app.patch(`/plans/${own}`, { text: 'left' }, { token: ada })).status).toBe(500);
    expect((await app.patch(`/plans/${own}`, { text: 'shared' }, { token: ada })).status).toBe(200);
    expect(await status(own, bob)).toBe(200);
    expect(await app.database.collection('plans').countDocuments()).toBe(2);
  });
});

describe('isolation by an object', () => {
  class Inner extends PlanInput {}

  it.each<[string, object]>([
    ['an object', { type: new MongooseSchema({ sub: String }) }],
    ['any value', { type: MongooseSchema.Types.Mixed }],
    ['a map', { type: Map, of: String }],
    ['a list of objects', { type: [new MongooseSchema({ sub: String })] }],
    ['a list of lists', { type: [[String]] }],
    ['an object by its members', { sub: String }],
  ])('stops the start for %s', (_name, field) => {
    class Outer extends Inner {}
    const schema = new MongooseSchema({ text: String, owner: field }, { timestamps: true });
    const options = { entity: Outer, input: PlanInput, name: 'outers', schema };
    const forFeature = () =>
      CrudModule.forFeature({ ...options, isolationFields: { all: { owner: claim('sub') } } } as never);
    expect(forFeature).toThrow(
      new Error(
        'CrudModule.forFeature(Outer): isolationFields.all names "owner", which can hold an object. Isolate by a single value, or by a list of single values.',
      ),
    );
  });
});
