/** @mongodb */
import { Prop } from '@nestjs/mongoose';
import { Types } from 'mongoose';
import { CrudModule } from '../../../src/common/crud/index.js';
import { IsReference } from '../../../src/common/fields/index.js';
import { currentTenant } from '../../../src/common/tenancy/index.js';
import { createResourceApp } from '../../support/resource-app.js';
import { acme, globex } from '../../support/tenants.js';
import { resource, feature } from '../../support/resource.js';

const tenant = { tenant: currentTenant };
const shared = {
  kept: { tenant: Prop({ type: Types.ObjectId }) },
  isolationFields: { create: tenant, update: tenant, del: tenant },
};
const topics = resource({ name: 'topics', ...shared });
const essays = (reference: object) =>
  feature({
    name: 'essays',
    fields: { topic: IsReference(() => topics.entity) },
    ...shared,
    references: { topic: { to: topics.entity, ...reference } },
  });

it('a reference with sameScope must be to a record of the same tenant, even if everybody may read the others', async () => {
  const app = await createResourceApp(CrudModule.forFeature(topics), essays({ check: 'sameScope' }));
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
      essays({ check, onDelete: 'cascade' }),
    );
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
