/** @mongodb */
import { CrudModule, HealthModule, IsText, schemaOf } from '../../src/index.js';
import { eventually } from '../support/eventually.js';
import { useDatabase } from '../support/mongodb.js';
import { feature, resource } from '../support/resource.js';
import { rootOf } from '../support/resource-app.js';
import { createTestApp } from '../support/test-app.js';

/** A value of the records; no log may have it. */
const CANARY = 'canary-d3b07384';

const fields = { code: IsText({ max: 20 }) };
const ticketOptions = resource({ name: 'tickets', fields, bulk: true });
const schema = schemaOf(ticketOptions.entity).index({ code: 1 }, { unique: true });
const features = [
  CrudModule.forFeature({ ...ticketOptions, schema }),
  feature({ name: 'seats', fields }),
  HealthModule,
];

const older = useDatabase();
it('an index that cannot be built stops its resource alone, until it can be, and no log quotes a record', async () => {
  const { uri, database } = older;
  await database.createCollection('tickets');
  const tickets = database.collection('tickets');
  const { insertedIds } = await tickets.insertMany([CANARY, CANARY, 'B'].map((code) => ({ code })));
  await using app = await createTestApp({ env: { MONGODB_URI: uri }, root: rootOf(...features) });
  const one = `/tickets/${String(insertedIds[2])}`;
  for (const { status, body } of [
    await app.get('/tickets'),
    await app.get(one),
    await app.post('/tickets', { code: CANARY }),
    await app.del(one),
    await app.post('/tickets/bulk', { operations: [{ create: { code: CANARY } }] }),
  ])
    expect([status, body.code]).toEqual([503, 'INDEX_UNAVAILABLE']);
  expect((await app.post('/seats', { code: CANARY })).status).toBe(201);
  expect((await app.get('/health/ready')).body).toEqual({ status: 'ok', unavailable: ['tickets'] });
  await tickets.deleteOne({ _id: insertedIds[0] });
  await eventually(async () => expect((await app.get('/tickets')).status).toBe(200));
  expect((await app.post('/tickets', { code: CANARY })).body.code).toBe('DUPLICATE_VALUE');
  expect((await app.get('/health/ready')).body).toEqual({ status: 'ok' });
  const told = app.logLines.filter(({ msg }) => String(msg).startsWith('An index cannot be built'));
  const reason = expect.stringMatching(/^MongoServerError 11000 (DuplicateKey )?at code /) as string;
  expect(told).toEqual([expect.objectContaining({ resource: 'tickets', level: 'error', reason })]);
  expect(JSON.stringify(app.logLines)).not.toContain(CANARY);
});
