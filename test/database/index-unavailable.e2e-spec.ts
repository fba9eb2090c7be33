/** @mongodb */
import { Schema } from '@nestjs/mongoose';
import mongoose from 'mongoose';
import { CrudModule } from '../../src/common/crud/index.js';
import { IsText, schemaOf } from '../../src/common/fields/index.js';
import { HealthModule } from '../../src/common/health/index.js';
import { eventually } from '../support/eventually.js';
import { freshDatabaseUri } from '../support/mongodb.js';
import { resourceRoot } from '../support/resource-app.js';
import { createTestApp } from '../support/test-app.js';

class TicketInput {
  @IsText({ max: 20 }) code!: string;
}
@Schema({ timestamps: true })
class Ticket extends TicketInput {}
@Schema({ timestamps: true })
class Seat extends TicketInput {}

const features = [
  CrudModule.forFeature({
    entity: Ticket,
    input: TicketInput,
    name: 'tickets',
    schema: schemaOf(Ticket).index({ code: 1 }, { unique: true }),
    bulk: true,
  }),
  CrudModule.forFeature({ entity: Seat, input: TicketInput, name: 'seats' }),
  HealthModule,
];

it('an index that cannot be built stops its resource alone, until it can be', async () => {
  const uri = freshDatabaseUri();
  const client = new mongoose.mongo.MongoClient(uri);
  await client.db().createCollection('tickets');
  const tickets = client.db().collection('tickets');
  const { insertedIds } = await tickets.insertMany(['A', 'A', 'B'].map((code) => ({ code })));
  const app = await createTestApp({
    env: { MONGODB_URI: uri },
    root: (environment, database) => resourceRoot(environment, database, features),
  });
  const answers = [
    await app.get('/tickets'),
    await app.get(`/tickets/${String(insertedIds[2])}`),
    await app.post('/tickets', { code: 'A' }),
    await app.del(`/tickets/${String(insertedIds[2])}`),
    await app.post('/tickets/bulk', { operations: [{ create: { code: 'A' } }] }),
  ];
  expect(answers.map(({ status, body }) => [status, body.code])).toEqual(
    answers.map(() => [503, 'INDEX_UNAVAILABLE']),
  );
  expect((await app.post('/seats', { code: 'A' })).status).toBe(201);
  expect((await app.get('/health/ready')).body).toEqual({ status: 'ok', unavailable: ['tickets'] });
  await tickets.deleteOne({ _id: insertedIds[0] });
  await eventually(async () => expect((await app.get('/tickets')).status).toBe(200));
  expect((await app.post('/tickets', { code: 'A' })).body.code).toBe('DUPLICATE_VALUE');
  expect((await app.get('/health/ready')).body).toEqual({ status: 'ok' });
  const told = app.logLines.filter(({ msg }) => String(msg).startsWith('An index cannot be built'));
  expect(told).toEqual([expect.objectContaining({ resource: 'tickets', level: 'error' })]);
  await app.close();
  await client.close();
});
