/** @mongodb */
import { Prop, Schema } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsReference } from '../../../src/common/fields/index.js';
import { currentTenant } from '../../../src/common/tenancy/index.js';
import { NoteInput } from '../../support/bulk.js';
import { createResourceApp } from '../../support/resource-app.js';
import { ACME, GLOBEX, tokenOf } from '../../support/tenants.js';

@Schema({ timestamps: true })
class Topic extends NoteInput {
  @Prop({ type: Types.ObjectId }) tenant?: Types.ObjectId;
}

class EssayInput {
  @IsReference(() => Topic) topic!: Types.ObjectId;
}

@Schema({ timestamps: true })
class Essay extends EssayInput {
  @Prop({ type: Types.ObjectId }) tenant?: Types.ObjectId;
}

const tenant = { tenant: currentTenant };
const isolationFields = { create: tenant, update: tenant, del: tenant };
const topics = { entity: Topic, input: NoteInput, name: 'topics', isolationFields };
const essays = { entity: Essay, input: EssayInput, name: 'essays', isolationFields };

it('a reference with sameScope must be to a record of the same tenant, even if everybody may read the others', async () => {
  const app = await createResourceApp(
    CrudModule.forFeature(topics),
    CrudModule.forFeature({ ...essays, references: { topic: { to: Topic, check: 'sameScope' } } }),
  );
  const [acme, globex] = [await tokenOf(ACME), await tokenOf(GLOBEX)];
  const topic = (await app.post('/topics', { text: 'A' }, { token: acme })).body._id as string;
  expect((await app.get(`/topics/${topic}`)).status).toBe(200);
  expect((await app.post('/essays', { topic }, { token: acme })).status).toBe(201);
  const { status, body } = await app.post('/essays', { topic }, { token: globex });
  expect([status, body.errors?.[0]?.pointer]).toEqual([400, '/topic']);
  await app.close();
});

it.each([
  ['exists', 201],
  ['sameScope', 400],
] as const)(
  'a cascade with the check %s deletes the records of other tenants that could refer',
  async (check, status) => {
    const app = await createResourceApp(
      CrudModule.forFeature(topics),
      CrudModule.forFeature({ ...essays, references: { topic: { to: Topic, check, onDelete: 'cascade' } } }),
    );
    const [acme, globex] = [await tokenOf(ACME), await tokenOf(GLOBEX)];
    const [first, second] = await Promise.all(
      [acme, globex].map(
        async (token) => (await app.post('/topics', { text: 'A' }, { token })).body._id as string,
      ),
    );
    expect((await app.post('/essays', { topic: first }, { token: globex })).status).toBe(status);
    expect((await app.post('/essays', { topic: second }, { token: globex })).status).toBe(201);
    expect((await app.del(`/topics/${first}`, { token: acme })).status).toBe(200);
    expect((await app.get('/essays/count')).body).toEqual({ count: 1 });
    await app.close();
  },
);
