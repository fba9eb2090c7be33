/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { claim, currentTenant, IsListOf, IsText, scopeOf } from '../../src/index.js';
import { requestsOf } from '../support/requests-of.js';
import { type Made, resource } from '../support/resource.js';
import { serviceIn, useResourceApp } from '../support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../support/tenants.js';

const list = IsListOf(IsText({ max: 20 }), { max: 9, optional: true });
const messages = resource({
  name: 'messages',
  fields: { text: IsText({ max: 80 }), participants: list, tags: list },
  kept: { deletedAt: Prop({ type: Date }) },
  isolationFields: { all: { participants: claim('sub') } },
  query: { filter: ['tags', 'participants'], sort: ['text'], search: ['text', 'tags'] },
  archive: { field: 'deletedAt' },
  bulk: true,
});

const plans = resource({
  name: 'plans',
  kept: { tenants: Prop({ type: [Types.ObjectId] }), people: Prop({ type: [String] }) },
  isolationFields: { all: { tenants: currentTenant, people: claim('sub') } },
  query: { search: ['text'] },
  hooks: {
    beforeCreate: ({ record }) => move(record),
    beforeUpdate: ({ record }) => move(record),
  },
});

function move(record: Made & { people?: string[] }): void {
  if (record.text === 'shared') record.people?.push('bob');
  if (record.text === 'moved') record.people = ['bob'];
}

describe('isolation by a list', () => {
  const app = useResourceApp(messages, plans);
  beforeEach(() => app.empty());
  const caller = (sub: string, tenant = ACME) => requestsOf(app, tokenOf(tenant, { sub }));
  const [ada, bob, eve] = [caller('ada'), caller('bob'), caller('eve')];
  const create = (body: object, by = ada) => by.create('/messages', body);

  it('lets everybody in who is in the list, and adds who creates the record', async () => {
    const path = `/messages/${await create({ text: 'tea', participants: ['bob'] })}`;
    expect(await bob.get(path)).toMatchObject({ participants: ['bob', 'ada'] });
    expect([await ada.status('GET', path), await eve.status('GET', path)]).toEqual([200, 404]);
    expect(await eve.status('PATCH', path, { text: 'x' })).toBe(404);
    expect(await eve.status('DELETE', path)).toBe(404);
    await create({ text: 'own', participants: ['ada'] });
    await create({ text: 'alone' });
    const stored = await app.database.collection('messages').find().sort({ _id: 1 }).toArray();
    const lists = stored.map(({ participants }) => participants as string[]);
    expect(lists).toEqual([['bob', 'ada'], ['ada'], ['ada']]);
  });

  it('scopes lists, counts, pages, searches, filters and the archive', async () => {
    const id = await create({ text: 'green tea', participants: ['bob'], tags: ['a', 'b'] });
    await create({ text: 'black tea', tags: ['a', 'c'] });
    await create({ text: 'red tea', tags: ['a'] }, eve);
    for (const [reader, expected] of [
      [ada, ['black tea', 'green tea']],
      [bob, ['green tea']],
      [eve, ['red tea']],
    ] as const) {
      expect(await reader.texts('/messages?sort=text')).toEqual(expected);
      for (const query of ['q=tea', 'tags=a'])
        expect((await reader.texts(`/messages?${query}`)).sort()).toEqual(expected);
      expect(await reader.get('/messages/count')).toEqual({ count: expected.length });
      const page = await reader.get('/messages?sort=-text&limit=1');
      expect(page).toMatchObject({ results: [{ text: expected.at(-1) }] });
    }
    expect(await ada.texts('/messages?participants=bob')).toEqual(['green tea']);
    expect(await ada.texts('/messages?participants=eve')).toEqual([]);
    await ada.send('DELETE', `/messages/${id}`);
    expect(await bob.texts('/messages?archived=only')).toEqual(['green tea']);
    expect(await eve.texts('/messages?archived=only')).toEqual([]);
  });

  it('lets a change add and remove others, but not the caller', async () => {
    const path = `/messages/${await create({ text: 'tea', participants: ['bob'] })}`;
    expect(await ada.status('PATCH', path, { participants: ['ada', 'eve'] })).toBe(200);
    expect(await eve.status('GET', path)).toBe(200);
    const detail = '"participants" must keep the entry that lets you change the record.';
    for (const participants of [['bob'], [], null]) {
      const { status, body } = await ada.send('PATCH', path, { participants });
      expect([status, body.errors[0]]).toEqual([400, { pointer: '/participants', detail }]);
    }
    expect(await ada.get(path)).toMatchObject({ participants: ['ada', 'eve'] });
  });

  it('rejects a create whose list is full without the caller, as any list that is too long', async () => {
    const eight = Array.from({ length: 8 }, (_, i) => `person ${i}`);
    const id = await create({ text: 'tea', participants: [...eight, 'ada'] });
    await create({ text: 'tea', participants: eight });
    const long = { participants: [...eight, 'bob', 'ada'] };
    const { errors } = (await ada.send('PATCH', `/messages/${id}`, long)).body;
    expect(errors).toMatchObject([{ pointer: '/participants' }]);
    const full = { text: 'tea', participants: [...eight, 'bob'] };
    const { status, body } = await ada.send('POST', '/messages', full);
    expect([status, body.errors]).toEqual([400, errors]);
    const bulk = await ada.send('POST', '/messages/bulk', { operations: [{ create: full }] });
    expect(bulk.body.results).toMatchObject([{ status: 400 }]);
    expect(await app.database.collection('messages').countDocuments()).toBe(2);
  });

  it('works in bulk, and in code', async () => {
    const operations = [{ create: { text: 'tea', participants: ['bob'] } }];
    expect(await ada.status('POST', '/messages/bulk', { operations })).toBe(200);
    expect(await bob.texts('/messages')).toEqual(['tea']);
    const service = serviceIn(app, messages.entity);
    const made = await service.create(scopeOf({ participants: 'eve' }), { text: 'in code' });
    expect(await eve.texts('/messages')).toEqual(['in code']);
    const hidden = service.get(scopeOf({ participants: 'bob' }), made._id);
    await expect(hidden).rejects.toThrow('Message not found');
  });

  it('holds for two lists, and hooks may add to them but not move a record', async () => {
    const plan = async (text: string) => `/plans/${await ada.create('/plans', { text })}`;
    const [shared, own] = [await plan('shared'), await plan('own')];
    const statuses = (path: string) =>
      Promise.all([ada, bob, caller('ada', GLOBEX)].map((reader) => reader.status('GET', path)));
    expect(await statuses(shared)).toEqual([200, 200, 404]);
    expect(await statuses(own)).toEqual([200, 404, 404]);
    expect(await ada.texts('/plans?q=own')).toEqual(['own']);
    expect(await ada.status('POST', '/plans', { text: 'moved' })).toBe(500);
    expect(await ada.status('PATCH', own, { text: 'moved' })).toBe(500);
    expect(await ada.status('PATCH', own, { text: 'shared' })).toBe(200);
    expect(await bob.status('GET', own)).toBe(200);
    expect(await app.database.collection('plans').countDocuments()).toBe(2);
  });
});
