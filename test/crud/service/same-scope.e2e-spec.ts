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
  @Prop({ type: Types.ObjectId })
  tenant?: Types.ObjectId;
}

class EssayInput {
  @IsReference(() => Topic)
  topic!: Types.ObjectId;
}

@Schema({ timestamps: true })
class Essay extends EssayInput {
  @Prop({ type: Types.ObjectId })
  tenant?: Types.ObjectId;
}

it('a reference with sameScope must be to a record of the same tenant, even if everybody may read the others', async () => {
  const tenant = { tenant: currentTenant };
  const app = await createResourceApp(
    CrudModule.forFeature({
      entity: Topic,
      input: NoteInput,
      name: 'topics',
      isolationFields: { create: tenant, update: tenant, del: tenant },
    }),
    CrudModule.forFeature({
      entity: Essay,
      input: EssayInput,
      name: 'essays',
      isolationFields: { create: tenant, update: tenant, del: tenant },
      references: { topic: { to: Topic, check: 'sameScope' } },
    }),
  );
  const [acme, globex] = [await tokenOf(ACME), await tokenOf(GLOBEX)];
  const topic = (await app.post('/topics', { text: 'A' }, { token: acme })).body._id as string;
  expect((await app.get(`/topics/${topic}`)).status).toBe(200);
  expect((await app.post('/essays', { topic }, { token: acme })).status).toBe(201);
  const { status, body } = await app.post('/essays', { topic }, { token: globex });
  expect([status, body.errors?.[0]?.pointer]).toEqual([400, '/topic']);
  await app.close();
});
