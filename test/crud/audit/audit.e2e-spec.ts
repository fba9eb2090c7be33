/** @mongodb */
import { Param } from '@nestjs/common';
import { Prop } from '@nestjs/mongoose';
import { type mongo, Types } from 'mongoose';
import {
  AuditEntry,
  AuditEntryInput,
  CrudAction,
  CrudController,
  CrudModule,
  CurrentScope,
  IsReference,
  schemaOf,
  scopeOf,
  type TenantScope,
} from '../../../src/index.js';
import { NOWHERE } from '../../support/bulk.js';
import { eventually } from '../../support/eventually.js';
import { freshDatabaseUri } from '../../support/mongodb.js';
import { rootOf, serviceIn, useResourceApp } from '../../support/resource-app.js';
import { each, storedIn } from '../../support/records.js';
import { ACME, GLOBEX, globex, tokenOf } from '../../support/tenants.js';
import { createTestApp } from '../../support/test-app.js';
import { feature, OF_TENANT, resource } from '../../support/resource.js';

const [token, ofBob] = [tokenOf(ACME, { sub: 'ann' }), tokenOf(GLOBEX, { sub: 'bob' })];

const letters = resource({
  name: 'letters',
  ...OF_TENANT,
  kept: { ...OF_TENANT.kept, secret: Prop({ type: String, select: false }) },
  hooks: { beforeCreate: ({ record }) => void (record.secret = 'of a hook') },
  bulk: true,
  import: true,
  audit: { keptDays: 30 },
});
letters.schema = schemaOf(letters.entity).index({ tenant: 1, text: 1 }, { unique: true });

class LettersController extends CrudController(letters) {
  @CrudAction(letters, { method: 'POST', path: ':id/burn', isolatedAs: 'update', status: 200 })
  burn(@CurrentScope() scope: TenantScope, @Param('id') id: string) {
    return this.service.update(scope, id, { text: `ashes of ${id}` });
  }
}

/** Letters with a hidden field, stamps that a letter takes with it, notes with an archive, and what shows the audit records. */
const AUDITED = [
  CrudModule.forFeature(letters, { controller: LettersController }),
  feature({
    name: 'stamps',
    fields: { letter: IsReference(() => letters.entity) },
    ...OF_TENANT,
    references: { letter: { to: letters.entity, check: false, onDelete: 'cascade' } },
    audit: true,
  }),
  feature({
    name: 'notes',
    ...OF_TENANT,
    kept: { ...OF_TENANT.kept, deletedAt: Prop({ type: Date }) },
    archive: { field: 'deletedAt' },
    audit: true,
  }),
  CrudModule.forFeature({
    entity: AuditEntry,
    input: AuditEntryInput,
    name: 'audits',
    disable: ['create', 'update', 'del'],
    isolationFields: OF_TENANT.isolationFields,
    query: { filter: ['resource', 'record', 'outcome'] },
  }),
];

describe('the audit records of a resource', () => {
  const app = useResourceApp(...AUDITED);
  beforeEach(async () => {
    await settled();
    await app.empty();
  });

  /** The stored audit records, in the order of the writes, once each has its outcome. */
  const settled = () =>
    eventually(async () => {
      const records = await storedIn(app, 'audits');
      expect(records.filter(({ outcome }) => outcome === 'unknown')).toEqual([]);
      return records;
    });
  const told = async () =>
    (await settled()).map(({ action, resource, outcome, record }) =>
      [action, resource, outcome, record].map(String).join(' '),
    );
  const create = (text = 'Dear Ann') => app.create('/letters', { text }, token);

  it('say who wrote what, from where, when, by which request, and its outcome', async () => {
    const before = Date.now();
    const { body, headers } = await app.post('/letters', { text: 'Dear Ann' }, { token });
    const [{ _id, createdAt, expiresAt, ...rest } = {} as mongo.Document] = await settled();
    expect(_id).toBeInstanceOf(Types.ObjectId);
    expect(rest).toEqual({
      resource: 'letters',
      action: 'create',
      record: new Types.ObjectId(String(body._id)),
      changed: ['text', 'tenant'],
      tenant: new Types.ObjectId(ACME),
      subject: 'ann',
      address: '127.0.0.1',
      requestId: headers.get('x-request-id'),
      outcome: 'done',
      __v: 1,
    });
    expect((createdAt as Date).getTime()).toBeGreaterThanOrEqual(before);
    expect((expiresAt as Date).getTime() - (createdAt as Date).getTime()).toBe(30 * 86_400_000);
    await serviceIn(app, letters.entity).create(scopeOf({ tenant: ACME }), { text: 'By a job' });
    const [, inCode] = await settled();
    expect([inCode?.tenant, inCode?.requestId, inCode?.address]).toEqual([rest.tenant, undefined, undefined]);
  });

  it('cover every single write: update, delete with its cascades, own action, archive and restore', async () => {
    const id = await create();
    const stamp = await app.create('/stamps', { letter: id }, token);
    await app.patch(`/letters/${id}`, { text: 'Dear Bob' }, { token });
    await app.post(`/letters/${id}/burn`, undefined, { token });
    await app.del(`/letters/${id}`, { token });
    const note = await app.create('/notes', { text: 'Tea' }, token);
    await app.del(`/notes/${note}`, { token });
    await app.post(`/notes/${note}/restore`, undefined, { token });
    expect(await told()).toEqual([
      `create letters done ${id}`,
      `create stamps done ${stamp}`,
      `update letters done ${id}`,
      `update letters done ${id}`,
      `del stamps done ${stamp}`,
      `del letters done ${id}`,
      ...['create', 'del', 'restore'].map((action) => `${action} notes done ${note}`),
    ]);
    const [, , update, , cascaded, removed] = await settled();
    expect(update?.changed).toEqual(['text']);
    expect([cascaded?.subject, cascaded?.address]).toEqual(['ann', '127.0.0.1']);
    expect(cascaded?.requestId).toBe(removed?.requestId);
    // They have no values, and no name of a hidden field.
    expect(JSON.stringify(await settled())).not.toMatch(/Dear|ashes|of a hook|secret/);
  });

  it('name nobody if a record goes with another whose caller cannot read it', async () => {
    const id = await create();
    const stamp = await app.create('/stamps', { letter: id }, ofBob);
    await app.del(`/letters/${id}`, { token });
    const [, , cascaded, removed] = await settled();
    expect([String(cascaded?.record), cascaded?.requestId]).toEqual([stamp, removed?.requestId]);
    expect(cascaded).not.toHaveProperty('tenant');
    expect(cascaded).not.toHaveProperty('subject');
    expect((await app.get('/audits', { token })).text).not.toContain(stamp);
    expect((await app.get('/audits', { token: ofBob })).text).not.toContain(id);
  });

  it('cover every item of a bulk request and every line of an import', async () => {
    const id = await create();
    const operations = [
      { create: { text: 'One' } },
      { update: { _id: id, changes: { text: 'Two' } } },
      { update: { _id: NOWHERE, changes: { text: 'Three' } } },
      { create: { text: 7 } },
      { del: { _id: id } },
    ];
    const { body, headers } = await app.post('/letters/bulk', { operations }, { token });
    expect(each(body.results, 'status')).toEqual([201, 200, 404, 400, 200]);
    const ndjson = { 'Content-Type': 'application/x-ndjson' };
    const lines = '{"text":"Four"}\n{"text":"Five"}\n';
    const imported = await app.post('/letters/import', lines, { token, headers: ndjson });
    expect(each(imported.body, 'status')).toEqual([201, 201]);
    const outcomes = (await told()).map((one) => one.replace(/ [0-9a-f]+$/, '')).sort();
    const others = ['del letters done', 'update letters done', 'update letters unmatched'];
    expect(outcomes).toEqual([...Array<string>(4).fill('create letters done'), ...others]);
    const ofBulk = (await settled()).filter(({ requestId }) => requestId === headers.get('x-request-id'));
    expect(each(ofBulk, 'subject')).toEqual(['ann', 'ann', 'ann', 'ann']);
  });

  it('keep many creates of one bulk request in their order', async () => {
    const texts = Array.from({ length: 200 }, (_, i) => `Letter ${i}`);
    await app.post('/letters/bulk', { operations: texts.map((text) => ({ create: { text } })) }, { token });
    expect(each((await app.get('/letters', { token })).body, 'text')).toEqual(texts.reverse());
    expect(await settled()).toHaveLength(200);
  });

  it("are of writes that found nothing, such as one to another tenant's record, and of refused ones", async () => {
    const id = await create();
    expect((await app.patch(`/letters/${id}`, { text: 'Mine' }, { token: ofBob })).status).toBe(404);
    expect((await app.post('/letters', { text: 'Dear Ann' }, { token })).status).toBe(409);
    const [, foreign, refused] = await settled();
    const [record, tenant] = [new Types.ObjectId(id), new Types.ObjectId(GLOBEX)];
    expect(foreign).toMatchObject({ outcome: 'unmatched', record, tenant, subject: 'bob' });
    expect(refused).toMatchObject({ outcome: 'refused', code: 'DUPLICATE_VALUE' });
  });

  it('cover one write per key, and no reads, empty changes and requests that never reach a write', async () => {
    const headers = { 'Idempotency-Key': 'a-letter' };
    const send = () => app.post('/letters', { text: 'Once' }, { token, headers });
    const [first, second] = [await send(), await send()];
    expect(second.body).toEqual(first.body);
    const path = `/letters/${first.body._id}`;
    await app.get(path, { token });
    await app.patch(path, {}, { token });
    await app.post('/letters', { text: 7 }, { token });
    await app.post('/letters', { text: 'No token' });
    expect(await told()).toEqual([`create letters done ${first.body._id}`]);
  });

  it('can be read by their tenant if a resource shows them', async () => {
    const id = await create();
    await settled();
    const { body } = await app.get(`/audits?record=${id}&limit=10`, { token });
    const shown = { resource: 'letters', action: 'create', record: id, subject: 'ann', outcome: 'done' };
    expect(body).toMatchObject({ count: 1, results: [shown] });
    expect(body.results[0]).not.toHaveProperty('expiresAt');
    expect((await app.get('/audits?limit=10', { token: globex })).body.count).toBe(0);
    expect((await app.get('/audits')).status).toBe(401);
    expect((await app.post('/audits', {}, { token })).status).toBe(405);
  });

  it('are removed by the database after keptDays', async () => {
    const indexes = await app.database.collection('audits').indexes();
    expect(indexes).toContainEqual(expect.objectContaining({ key: { expiresAt: 1 }, expireAfterSeconds: 0 }));
  });

  it('have their outcome once the service has shut down gracefully', async () => {
    const uri = freshDatabaseUri();
    const first = await createTestApp({ env: { MONGODB_URI: uri }, root: rootOf(...AUDITED) });
    await first.create('/letters', { text: 'Last words' }, token);
    await first.leave();
    await using second = await createTestApp({ env: { MONGODB_URI: uri } });
    expect(each(await storedIn(second, 'audits'), 'outcome')).toEqual(['done']);
  });

  it('come first: a write whose audit record cannot be stored is refused and not carried out', async () => {
    await create('Seen');
    // From now on the collection takes no second audit record of a resource.
    await app.database.collection('audits').createIndex({ resource: 1 }, { unique: true, name: 'once' });
    const { status, body } = await app.post('/letters', { text: 'Unseen' }, { token });
    await app.database.collection('audits').dropIndex('once');
    expect([status, body.code]).toEqual([500, 'INTERNAL_ERROR']);
    expect(each(await storedIn(app, 'letters'), 'text')).toEqual(['Seen']);
  });
});

it('a service without audited resources has no collection of audit records and no path to them', async () => {
  await using app = await createTestApp({ env: { WORKER: 'off' } });
  await app.post('/todos', { title: 'Tea' });
  const names = (await app.database.listCollections().toArray()).map(({ name }) => name);
  expect(names).not.toContain('audits');
  expect((await app.get('/audits')).status).toBe(404);
});
